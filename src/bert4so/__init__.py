"""Put sentences in order.

What is listed in `__all__` is the public API; see docs/api.md. Each name is loaded when it is first
used, so that `import bert4so` is fast, and PyTorch is loaded only by what needs it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bert4so.data.corpus import Corpus, load_corpus
    from bert4so.document import Decision, Document, Order, Ordering, Puzzle
    from bert4so.errors import UserError
    from bert4so.evaluation import metrics
    from bert4so.evaluation.evaluate import Prediction
    from bert4so.evaluation.evaluation import Evaluation, evaluate
    from bert4so.inference.backend import Backend
    from bert4so.inference.orderer import Orderer
    from bert4so.training.run import Run
    from bert4so.training.train import train

    __version__: str

__all__ = [
    "Backend",
    "Corpus",
    "Decision",
    "Document",
    "Evaluation",
    "Order",
    "Orderer",
    "Ordering",
    "Prediction",
    "Puzzle",
    "Run",
    "UserError",
    "__version__",
    "evaluate",
    "load_corpus",
    "metrics",
    "train",
]

_MODULES = {
    "Backend": "inference.backend",
    "Corpus": "data.corpus",
    "Decision": "document",
    "Document": "document",
    "Evaluation": "evaluation.evaluation",
    "Order": "document",
    "Orderer": "inference.orderer",
    "Ordering": "document",
    "Prediction": "evaluation.evaluate",
    "Puzzle": "document",
    "Run": "training.run",
    "UserError": "errors",
    "evaluate": "evaluation.evaluation",
    "load_corpus": "data.corpus",
    "train": "training.train",
}
"""The module in which each public name is."""


def __getattr__(name: str) -> Any:
    value: Any
    if name == "__version__":
        value = import_module("importlib.metadata").version("bert4so")
    elif name == "metrics":
        value = import_module("bert4so.evaluation.metrics")
    elif name in _MODULES:
        value = getattr(import_module(f"bert4so.{_MODULES[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value  # the next time it is found without this function
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
