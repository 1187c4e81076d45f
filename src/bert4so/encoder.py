"""Pretrained encoders: what they want to read, and their weights."""

from pathlib import Path
from typing import Any

import torch
from huggingface_hub.utils import logging as hub_logging
from tokenizers import Tokenizer
from torch import nn
from transformers import AutoConfig, AutoModel, AutoTokenizer, PretrainedConfig, PreTrainedModel
from transformers.utils import logging

from bert4so.errors import UserError
from bert4so.locate import locate, not_found
from bert4so.packing import Layout, Packer
from bert4so.progress import say

SAFE: dict[str, Any] = {"trust_remote_code": False}
"""An encoder is data: nothing that comes with it is ever run."""

FUSED_FROM = 192
"""Tokens: in bf16 on a CPU, the backward pass of fused attention over shorter rows is slower than
plain products of matrices, which are slower over longer rows: they keep what every two tokens say.
"""

logging.disable_progress_bar()  # type: ignore[no-untyped-call]
# What is missing from an encoder's file is looked at by us.
logging.set_verbosity_error()  # type: ignore[no-untyped-call]
# A hub that does not answer is told of once, by us.
hub_logging.set_verbosity_error()  # type: ignore[no-untyped-call]


def load_config(name: str) -> PretrainedConfig:
    """The configuration of an encoder."""
    place = locate(name)
    if not Path(place).is_dir():
        say(f"looking for {name} in the hub's cache and on the hub")
    try:
        config: PretrainedConfig = AutoConfig.from_pretrained(place, **SAFE)
        return config
    except (OSError, ValueError) as error:
        raise not_found(name, error) from None


def with_dropout(config: PretrainedConfig, dropout: float) -> PretrainedConfig:
    """The same configuration, all its dropouts set; each kind of encoder has its own names."""
    names = [
        name for name, value in config.to_dict().items() if "dropout" in name and value is not None
    ]
    for name in names:
        setattr(config, name, dropout)
    return config


def load_packer(name: str, config: PretrainedConfig) -> Packer:
    """The tokenizer of an encoder, and the layout of the rows it reads."""
    try:
        tokenizer = AutoTokenizer.from_pretrained(locate(name), **SAFE)
    except (OSError, ValueError) as error:
        raise not_found(name, error) from None
    special = {
        "cls": tokenizer.cls_token_id,
        "sep": tokenizer.sep_token_id,
        "pad": tokenizer.pad_token_id,
        "unknown": tokenizer.unk_token_id,
    }
    missing = [kind for kind, token in special.items() if token is None]
    if missing or not tokenizer.is_fast:
        lacks = f"has no {missing[0]} token" if missing else "is not of the `tokenizers` library"
        raise UserError(f"encoder {name}: its tokenizer {lacks}; wanted one like BERT's")
    layout = Layout(
        positions=positions(name, config),
        segments=getattr(config, "type_vocab_size", 0) >= 2,
        **special,
    )
    # A copy: the packer changes its settings.
    return Packer(Tokenizer.from_str(tokenizer.backend_tokenizer.to_str()), layout)


def positions(name: str, config: PretrainedConfig) -> int:
    """How many tokens an encoder can read at once.

    Its number of position embeddings, less those it never uses: RoBERTa and its kin count from one
    past the id of padding. What the tokenizer says of it may be the length used in some training.
    """
    rows = getattr(config, "max_position_embeddings", None)
    if not isinstance(rows, int):
        raise UserError(f"encoder {name}: its configuration has no max_position_embeddings")
    with torch.device("meta"):
        bare = architecture(config)
    for part, module in bare.named_modules():
        if part.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            unused = 0 if module.padding_idx is None else module.padding_idx + 1
            return module.num_embeddings - unused
    return rows


def architecture(config: PretrainedConfig) -> PreTrainedModel:
    """An encoder whose weights have learned nothing."""
    encoder = AutoModel.from_config(config, dtype=torch.float32, **SAFE)  # type: ignore[no-untyped-call]
    return _without_pooler(encoder)


def pretrained(name: str) -> PreTrainedModel:
    """An encoder with its pretrained weights, in float32 whatever they are kept in."""
    how = {"dtype": torch.float32, "use_safetensors": True, "output_loading_info": True}
    try:
        encoder, loading = AutoModel.from_pretrained(locate(name), **how, **SAFE)
    except (OSError, ValueError) as error:
        raise not_found(name, error) from None
    # The pooler is not used, and many encoders are handed out without it.
    missing = [key for key in loading["missing_keys"] if not key.startswith("pooler.")]
    if missing:
        raise UserError(f"encoder {name}: its file has no weights for {missing[0]}")
    return _without_pooler(encoder)


def attend_by_length(model: nn.Module) -> None:
    """Let the encoders in a model attend as is fastest in bf16 on a CPU, see `FUSED_FROM`."""
    for part in model.modules():
        if isinstance(part, PreTrainedModel):
            part.register_forward_pre_hook(_choose_attention, with_kwargs=True)


def _choose_attention(encoder: nn.Module, _: Any, given: dict[str, Any]) -> None:
    assert isinstance(encoder, PreTrainedModel)
    fused = given["input_ids"].shape[1] >= FUSED_FROM
    encoder.set_attn_implementation("sdpa" if fused else "eager")


def _without_pooler(encoder: PreTrainedModel) -> PreTrainedModel:
    """Sentences are read off the last layer: the weights after it would learn nothing."""
    if "pooler" in dict(encoder.named_children()):
        encoder.register_module("pooler", None)
    return encoder
