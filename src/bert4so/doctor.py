"""What is installed, and what was found."""

import os
import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from bert4so.data.corpus import shelves
from bert4so.machine import processor

EXTRAS = {
    "train": ["torch", "transformers", "accelerate", "safetensors", "pydantic", "matplotlib"],
}


def findings() -> Iterator[tuple[str, str]]:
    """Names and findings, in the order a person asks for them."""
    yield "bert4so", version("bert4so")
    yield "python", platform.python_version()
    yield "cores", f"{os.cpu_count()} ({processor()})"
    for extra, packages in EXTRAS.items():
        missing = [name for name in packages if find_spec(name) is None]
        hint = f"missing {', '.join(missing)}: pip install 'bert4so[{extra}]'"
        yield f"[{extra}]", hint if missing else ", ".join(map(_versioned, packages))
    yield "encoder", _encoder()
    for shelf in shelves():
        yield "corpora", f"{shelf}: {', '.join(_corpora(shelf)) or 'none'}"
    if not os.environ.get("BERT4SO_DATA"):
        yield "corpora", "$BERT4SO_DATA is not set"


def _versioned(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return package


def _encoder() -> str:
    if find_spec("torch") is None or find_spec("transformers") is None:
        return "none without the extra [train]"
    from bert4so.encoder import PACKAGES, locate

    name = next(iter(PACKAGES))
    place = locate(name)
    found = "not here: it will be asked of the hub" if place == name else place
    return f"{name}: {found}"


def _corpora(shelf: Path) -> list[str]:
    if not shelf.is_dir():
        return []
    return sorted(folder.name for folder in shelf.iterdir() if any(folder.glob("*.jsonl*")))
