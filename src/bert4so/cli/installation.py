"""What is installed: versions, extras, encoder, tagger and corpora."""

import os
import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from bert4so.common.machine import processor
from bert4so.data.corpus import corpus_roots, list_corpora
from bert4so.inference.orderer import BUNDLED
from bert4so.text.encoder_files import DEFAULT_ENCODER, locate
from bert4so.text.nouns import find_tagger, full_name

EXTRAS = {
    "data": ["zstandard", "pysbd", "pyarrow", "datasets", "scipy"],
    "report": ["matplotlib", "scipy"],
    "graph": ["HanTa"],
    "train": [
        *("torch", "transformers", "accelerate", "safetensors", "pydantic", "tomli_w"),
        *("onnx", "onnxscript", "matplotlib"),
    ],
}


def findings() -> Iterator[tuple[str, str]]:
    """Names and findings, the most asked for first."""
    yield "bert4so", version("bert4so")
    yield "python", platform.python_version()
    yield "cores", f"{os.cpu_count()} ({processor()})"
    yield "model", f"{BUNDLED} ({sum(p.stat().st_size for p in BUNDLED.iterdir()) / 1e6:.1f} MB)"
    for extra, packages in EXTRAS.items():
        missing = [name for name in packages if find_spec(name) is None]
        hint = f"missing {', '.join(missing)}: pip install 'bert4so[{extra}]'"
        yield f"[{extra}]", hint if missing else ", ".join(map(_versioned, packages))
    yield "encoder", _encoder()
    yield "nouns", full_name(find_tagger(""))
    for root in corpus_roots():
        names = ", ".join(folder.name for folder in list_corpora(root))
        yield "corpora", f"{root}: {names or 'none'}"
    if not os.environ.get("BERT4SO_DATA"):
        yield "corpora", "$BERT4SO_DATA is not set"


def _versioned(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return package


def _encoder() -> str:
    place = locate(DEFAULT_ENCODER)
    status = "not installed; will be downloaded from the hub" if place == DEFAULT_ENCODER else place
    return f"{DEFAULT_ENCODER}: {status}"
