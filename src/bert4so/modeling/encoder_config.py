"""The configuration of an encoder, reduced to the numbers that its architecture is made of.

transformers acts on much that a config.json may say: code to run, attention kernels to download,
quantization, weights elsewhere. Only the settings of a known architecture are taken over, with
values of JSON's own types and of limited size.
"""

from collections.abc import Mapping
from inspect import signature
from pathlib import Path
from typing import Any

from transformers import PretrainedConfig
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from bert4so.errors import UserError, quote
from bert4so.io.model_files import MAX_LAYERS, first_line, read_object

ARCHITECTURES = (
    "albert",
    "bert",
    "big_bird",
    "camembert",
    "convbert",
    "data2vec-text",
    "deberta",
    "deberta-v2",
    "distilbert",
    "electra",
    "ernie",
    "eurobert",
    "fnet",
    "gte",
    "ibert",
    "jina_embeddings_v3",
    "layoutlm",
    "longformer",
    "luke",
    "megatron-bert",
    "mobilebert",
    "modernbert",
    "mpnet",
    "nomic_bert",
    "nystromformer",
    "rembert",
    "roberta",
    "roberta-prelayernorm",
    "roc_bert",
    "roformer",
    "splinter",
    "squeezebert",
    "xlm-roberta",
    "xlm-roberta-xl",
)
"""Encoders of text whose code in transformers downloads nothing."""

NOT_ARCHITECTURE = {
    *("architectures", "chunk_size_feed_forward", "dtype", "id2label", "is_encoder_decoder"),
    *("kwargs", "label2id", "name_or_path", "output_attentions", "output_hidden_states"),
    *("per_layer_config", "problem_type", "return_dict", "torch_dtype", "transformers_version"),
}
"""Settings that every configuration of transformers has, and no encoder needs."""

MAX_INTEGER = 1 << 24
MAX_STRING_CHARACTERS = 100
MAX_ITEMS = 1000
MAX_DEPTH = 3


def reduced_config(given: Mapping[str, Any], where: str) -> PretrainedConfig:
    """The configuration that the values describe; `where` says in an error where they are from."""
    kind = given.get("model_type")
    if kind not in ARCHITECTURES or kind not in CONFIG_MAPPING:
        raise UserError(
            f"{where}: model_type {quote(kind)} is not supported: must be one of "
            f"{', '.join(ARCHITECTURES)}"
        )
    described: type[PretrainedConfig] = CONFIG_MAPPING[kind]
    known = signature(described).parameters.keys() - NOT_ARCHITECTURE
    settings = {key: value for key, value in given.items() if key in known}
    for key, value in settings.items():
        if not _is_plain(value) or ("layers" in key and not _is_layers(value)):
            raise UserError(f"{where}: {key} = {quote(value)} is not supported")
    try:
        return described(**settings)
    except Exception as error:  # of transformers, which has a type for each of its checks
        raise UserError(f"{where}: not a configuration of {kind}: {first_line(error)}") from None


def read_config(path: Path) -> PretrainedConfig:
    """The configuration in a file of a model's folder."""
    return reduced_config(read_object(path), str(path))


def _is_layers(value: object) -> bool:
    """Whether it can be a number of layers; it may also be a list of layers."""
    return not isinstance(value, int) or 0 <= value <= MAX_LAYERS


def _is_plain(value: object, depth: int = MAX_DEPTH) -> bool:
    """Whether a value is of JSON's own types, and of limited size."""
    if isinstance(value, str):
        return len(value) <= MAX_STRING_CHARACTERS
    if isinstance(value, int) and not isinstance(value, bool):
        return -MAX_INTEGER <= value <= MAX_INTEGER
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return depth > 0 and len(value) <= MAX_ITEMS and all(_is_plain(v, depth - 1) for v in inner)
    return value is None or isinstance(value, bool | float)
