"""Encoders of every kind, tiny and untrained, as folders that transformers can load."""

from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import AutoConfig, AutoModel, PreTrainedTokenizerFast

TEXT = "first we wake up then eat bread later go out at last come home now sleep on day"
WORDS = TEXT.split()
LETTERS = [chr(c) for c in range(ord("a"), ord("z") + 1)] + [str(d) for d in range(10)]

BERT_LIKE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
KINDS = {
    "bert": BERT_LIKE | {"intermediate_size": 64, "max_position_embeddings": 128},
    "electra": BERT_LIKE
    | {"intermediate_size": 64, "max_position_embeddings": 128, "embedding_size": 32},
    "albert": BERT_LIKE
    | {"intermediate_size": 64, "max_position_embeddings": 128, "embedding_size": 32},
    "distilbert": {
        "dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 64, "max_position_embeddings": 128,
    },
    "roberta": BERT_LIKE
    | {"intermediate_size": 64, "max_position_embeddings": 130, "type_vocab_size": 1},
    "mpnet": BERT_LIKE | {"intermediate_size": 64, "max_position_embeddings": 130},
    "modernbert": BERT_LIKE
    | {"intermediate_size": 64, "max_position_embeddings": 128, "global_attn_every_n_layers": 1},
}  # fmt: skip
"""Sizes by the kind of encoder; all of them can read 128 tokens."""


def make_encoder(kind: str, folder: Path) -> Path:
    """Write an encoder with weights and tokenizer; its padding has id 1, as RoBERTa's."""
    vocabulary = ["[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    vocabulary += [letter for letter in LETTERS if letter not in vocabulary]
    vocabulary += [f"##{letter}" for letter in LETTERS]
    tokenizer = Tokenizer(
        models.WordPiece({word: i for i, word in enumerate(vocabulary)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    # As the tokenizers of sentence-embedding models come: cut at a length of their own.
    tokenizer.enable_truncation(max_length=16)
    tokenizer.enable_padding(pad_id=1, pad_token="[PAD]", length=16)
    special = {"cls": 2, "sep": 3, "pad": 1, "unk": 0, "mask": 4}
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=16,
        **{f"{name}_token": f"[{name.upper()}]" for name in special},
    ).save_pretrained(folder)
    config = AutoConfig.for_model(
        kind,
        vocab_size=len(vocabulary),
        pad_token_id=1,
        cls_token_id=2,
        bos_token_id=2,
        sep_token_id=3,
        eos_token_id=3,
        **KINDS[kind],
    )
    torch.manual_seed(0)
    AutoModel.from_config(config).save_pretrained(folder)
    return folder
