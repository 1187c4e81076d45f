"""Pretrained encoders: their configuration, tokenizer and weights."""

from pathlib import Path
from typing import Any

import torch
from huggingface_hub.utils import logging as hub_logging
from safetensors import SafetensorError
from tokenizers import Tokenizer
from torch import nn
from transformers import (
    MODEL_MAPPING,
    AutoConfig,
    AutoModel,
    AutoTokenizer,
    PretrainedConfig,
    PreTrainedModel,
)
from transformers.utils import logging

from bert4so.common.progress import say
from bert4so.errors import UserError
from bert4so.io.model_files import is_interrupt, parse_json
from bert4so.modeling.encoder_config import read_config, reduced_config
from bert4so.text.encoder_files import encoder_not_found, locate
from bert4so.text.packing import MAX_POSITIONS, Layout, Packer, check_patterns

SAFE: dict[str, Any] = {"trust_remote_code": False}
"""An encoder is data: none of its code is ever run."""

MIN_FUSED_TOKENS = 192
"""Row length from which fused attention is used in bf16 on a CPU.

For shorter rows its backward pass is slower than plain matrix products. For longer rows these are
slower, because they store the attention of every pair of tokens.
"""

logging.disable_progress_bar()  # type: ignore[no-untyped-call]
# `pretrained` checks the missing weights itself.
logging.set_verbosity_error()  # type: ignore[no-untyped-call]
# We report once that the hub does not answer.
hub_logging.set_verbosity_error()  # type: ignore[no-untyped-call]


def load_config(name: str) -> PretrainedConfig:
    """The configuration of an encoder given by name or folder, reduced to its architecture."""
    if not Path(locate(name)).is_dir():
        say(f"looking for {name} in the hub's cache and on the hub")
    return _named_config(name)


def _named_config(name: str) -> PretrainedConfig:
    try:
        config: PretrainedConfig = AutoConfig.from_pretrained(locate(name), **SAFE)
    except Exception as error:  # of transformers, which has a type for each of its checks
        raise encoder_not_found(name, error) from None
    given = config.to_dict()
    if given.get("quantization_config") is not None:
        raise UserError(f"encoder {name}: its weights are quantized: use the unquantized encoder")
    return reduced_config(given, f"encoder {name}")


def load_saved(folder: Path) -> tuple[Packer, PretrainedConfig]:
    """The tokenizer and the configuration in a model's folder, checked against each other.

    The folder may be untrusted.
    """
    packer, path = Packer.load(folder), folder / "config.json"
    config = read_config(path)
    layout, words = packer.layout, int(getattr(config, "vocab_size", 0))
    if layout.positions > positions(str(path), config):
        raise UserError(f"{folder}: layout.json has more positions than config.json")
    if layout.segments and not _has_segments(config):
        raise UserError(f"{folder}: layout.json has segments, config.json has none")
    if max(_token_ids(packer)) >= words:
        raise UserError(f"{folder}: the tokenizer has tokens above the vocabulary of {words:,}")
    return packer, config


def _token_ids(packer: Packer) -> list[int]:
    """The ids that a row may contain. Special tokens in a text are treated as text."""
    layout, added = packer.layout, packer.tokenizer.get_added_tokens_decoder()
    return [
        *(layout.cls, layout.sep, layout.pad, layout.unknown),
        *packer.tokenizer.get_vocab(with_added_tokens=False).values(),
        *(number for number, token in added.items() if not token.special),
    ]


def _has_segments(config: PretrainedConfig) -> bool:
    return int(getattr(config, "type_vocab_size", 0) or 0) >= 2


def with_dropout(config: PretrainedConfig, dropout: float) -> PretrainedConfig:
    """Set all dropouts of a configuration; each architecture has its own names for them."""
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
    except BaseException as error:  # a panic of tokenizers is no Exception
        if is_interrupt(error):
            raise
        raise encoder_not_found(name, error) from None
    special = {
        "cls": tokenizer.cls_token_id,
        "sep": tokenizer.sep_token_id,
        "pad": tokenizer.pad_token_id,
        "unknown": tokenizer.unk_token_id,
    }
    missing = [kind for kind, token in special.items() if token is None]
    if missing or not tokenizer.is_fast:
        lacks = f"has no {missing[0]} token" if missing else "is not of the `tokenizers` library"
        raise UserError(f"encoder {name}: its tokenizer {lacks}: use an encoder like BERT")
    layout = Layout(
        positions=positions(name, config),
        segments=_has_segments(config),
        **special,
    )
    # A copy: the packer changes its settings.
    text = tokenizer.backend_tokenizer.to_str()
    # Otherwise a model would be trained that cannot be loaded.
    check_patterns(parse_json(text, Path(name)), Path(name))
    return Packer(Tokenizer.from_str(text), layout, f"encoder {name}")


def positions(name: str, config: PretrainedConfig) -> int:
    """Maximum number of tokens of a row.

    This is the number of position embeddings, less those that are never used: RoBERTa and similar
    encoders start at the padding id plus one. The tokenizer's own limit may be the length used in
    some training.
    """
    rows = getattr(config, "max_position_embeddings", None)
    if not isinstance(rows, int):
        raise UserError(f"encoder {name}: its configuration has no max_position_embeddings")
    with torch.device("meta"):
        bare = architecture(config)
    for part, module in bare.named_modules():
        if part.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            unused = 0 if module.padding_idx is None else module.padding_idx + 1
            return min(module.num_embeddings - unused, MAX_POSITIONS)
    return min(rows, MAX_POSITIONS)


def architecture(config: PretrainedConfig) -> PreTrainedModel:
    """An encoder with random weights."""
    how = {"dtype": torch.float32, "attn_implementation": _attention(config)}
    encoder = AutoModel.from_config(config, **how, **SAFE)  # type: ignore[no-untyped-call]
    return _without_pooler(encoder)


def pretrained(name: str) -> PreTrainedModel:
    """An encoder with its pretrained weights, converted to float32."""
    config = _named_config(name)
    how = {
        "config": config,
        "attn_implementation": _attention(config),
        "dtype": torch.float32,
        "use_safetensors": True,
        "output_loading_info": True,
    }
    try:
        encoder, loading = AutoModel.from_pretrained(locate(name), **how, **SAFE)
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise encoder_not_found(name, error) from None
    # The pooler is not used, and many encoders are published without it.
    missing = [key for key in loading["missing_keys"] if not key.startswith("pooler.")]
    if missing:
        raise UserError(f"encoder {name}: its file has no weights for {missing[0]}")
    return _without_pooler(encoder)


def freeze(encoder: PreTrainedModel, layers: int) -> None:
    """Exclude the embeddings and the lowest layers from training; with 0 layers, nothing.

    Nothing is computed backwards through them, so that a step is faster.
    """
    if not layers:
        return
    stack = _layers(encoder)
    if len(stack) < layers:
        raise UserError(
            f"frozen_layers = {layers}: this encoder has {len(stack)} layers that can be frozen"
        )
    below = [part for name, part in encoder.named_children() if name.startswith("embeddings")]
    for part in [*below, *stack[:layers]]:
        part.requires_grad_(False)


def _layers(encoder: PreTrainedModel) -> list[nn.Module]:
    """The layers of an encoder, lowest first; empty where they share their weights."""
    count = getattr(encoder.config, "num_hidden_layers", 0)
    lists = (part for part in encoder.modules() if isinstance(part, nn.ModuleList))
    return next((list(some) for some in lists if len(some) == count > 1), [])


def _attention(config: PretrainedConfig) -> str:
    """The attention to use, whatever a configuration says: it could name a kernel to download.

    It is what transformers uses by default.
    """
    model: Any = MODEL_MAPPING[type(config)]
    return "sdpa" if model._supports_sdpa else "eager"


def attend_by_length(model: nn.Module) -> None:
    """Use the fastest attention for bf16 on a CPU in all encoders of a model."""
    for part in model.modules():
        if isinstance(part, PreTrainedModel):
            part.register_forward_pre_hook(_choose_attention, with_kwargs=True)


def _choose_attention(encoder: nn.Module, _: Any, given: dict[str, Any]) -> None:
    assert isinstance(encoder, PreTrainedModel)
    fused = given["input_ids"].shape[1] >= MIN_FUSED_TOKENS
    encoder.set_attn_implementation("sdpa" if fused else "eager")


def _without_pooler(encoder: PreTrainedModel) -> PreTrainedModel:
    """Sentence vectors come from the last layer; the weights after it would not be trained."""
    if "pooler" in dict(encoder.named_children()):
        encoder.register_module("pooler", None)
    return encoder
