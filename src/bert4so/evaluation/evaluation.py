"""`bert4so.evaluate`: evaluate a model on the documents of a corpus."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bert4so.common.progress import progress_bar
from bert4so.data.corpus import SPLITS, Corpus, find_corpus, read_split, shuffle_seed
from bert4so.document import Document, Puzzle
from bert4so.errors import UserError, quote
from bert4so.evaluation.evaluate import Prediction, independent_seeds, solve
from bert4so.evaluation.intervals import Interval
from bert4so.evaluation.metrics import Metrics
from bert4so.evaluation.summary import Shuffles, Summary, summarize
from bert4so.inference.backend import Backend, fits
from bert4so.inference.orderer import Orderer
from bert4so.io.on_error import OnBad, OnError, handling


@dataclass(frozen=True)
class Evaluation:
    """The result of evaluating a model on a corpus.

    Attributes:
        metrics: The averages over the documents: `metrics.tau`, `metrics.pmr` and so on.
        intervals: For each metric, the ends of its 95 % bootstrap interval over documents.
        predictions: One per document, for the first shuffle: its id, its shuffled sentences with
            the true order, and the predicted ordering.
        shuffles: Means and standard deviations over the shuffles, if there are several.
    """

    metrics: Metrics
    intervals: dict[str, Interval]
    predictions: Sequence[Prediction]
    shuffles: Shuffles | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return metrics, intervals and shuffles as a dictionary that `json.dumps` accepts.

        It has the same content as the output of `bert4so evaluate --json`.
        """
        return asdict(Summary(self.metrics, self.intervals, self.shuffles))


def evaluate(
    model: str | Path | Orderer | Backend,
    corpus: str | Path | Corpus,
    *,
    split: str = "test",
    passes: int = 0,
    shuffles: int = 1,
    count_single: bool = False,
    on_error: OnError = "raise",
    progress: bool = False,
) -> Evaluation:
    """Evaluate a model on documents whose true order is known.

    Every document is shuffled, in the same way for every model and on every machine. Only models
    that `bert4so train` wrote need PyTorch.

    Args:
        model: `"bundled"`, a folder that `bert4so train` or `bert4so export` wrote, an `Orderer`,
            or a `Backend` of your own.
        corpus: A folder or the name of a corpus, as for `load_corpus`, or a `Corpus`.
        split: `"train"`, `"valid"` or `"test"`.
        passes: 0 to let the model read each document once, as it was shuffled, as in the papers; 1
            or more to order it as `Orderer.order` does, which accepts documents of any length.
        shuffles: Number of shuffles to evaluate; the first is the canonical one.
        count_single: Count documents of one sentence as correct instead of leaving them out.
        on_error: `"raise"` a `UserError` for the first document that cannot be read or ordered, or
            `"skip"` such documents and report them on stderr.
        progress: Show a progress bar on stderr.

    Raises:
        UserError: There is no such model, corpus or split, or no document with two sentences.

    >>> evaluation = evaluate("bundled", "data/sample", passes=1)
    >>> evaluation.metrics.tau, evaluation.intervals["tau"]
    """
    if split not in SPLITS:
        raise UserError(f"split must be one of {', '.join(SPLITS)} (got {quote(split)})")
    if shuffles < 1:
        raise UserError(f"shuffles must be at least 1 (got {quote(shuffles)})")
    backend = _backend(model, passes)
    with handling(on_error) as on_bad:
        every_document, seed = _documents(corpus, split, on_bad)
        documents = [d for d in every_document if _fits(backend, d, on_bad)]
    with progress_bar("ordering", len(documents) * shuffles, shown=progress) as advance:
        rounds = [solve(backend, documents, s, advance) for s in independent_seeds(seed, shuffles)]
    summary = summarize([[p.orders for p in predictions] for predictions in rounds], count_single)
    return Evaluation(summary.metrics, summary.intervals, rounds[0], summary.shuffles)


def _backend(model: str | Path | Orderer | Backend, passes: int) -> Backend:
    """The model's own backend, or with passes, that of an orderer."""
    if isinstance(model, str | Path):
        model = Orderer.from_pretrained(model)
    if not isinstance(model, Orderer | Backend):
        raise UserError(
            'model must be "bundled", a folder, an Orderer, or a Backend, with the methods order '
            f"and check (got {type(model).__name__})"
        )
    orderer = model if isinstance(model, Orderer) else Orderer(model)
    return orderer.build_backend(passes) if passes else orderer.backend


def _documents(
    corpus: str | Path | Corpus, split: str, on_bad: OnBad
) -> tuple[Sequence[Document], int]:
    """The documents of a split, and the seed of their shuffle. No other split is read."""
    if not isinstance(corpus, Corpus):
        folder = find_corpus(str(corpus))
        return read_split(folder, split, on_bad), shuffle_seed(folder)
    splits = {"train": corpus.train, "valid": corpus.valid, "test": corpus.test}
    if not splits[split]:
        raise UserError(f"{corpus.name}: no {split} documents")
    return splits[split], corpus.seed


def _fits(backend: Backend, document: Document, on_bad: OnBad) -> bool:
    return fits(backend, Puzzle(document.sentences), f'document "{document.id}"', on_bad)
