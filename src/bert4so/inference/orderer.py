"""What users call: sentences in, an ordering out, whatever model is behind it."""

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Self

from bert4so.common.progress import progress_bar
from bert4so.document import Ordering, Puzzle
from bert4so.errors import UserError
from bert4so.inference.backend import Backend
from bert4so.inference.passes import Passes
from bert4so.inference.windows import Windows, fits_a_row
from bert4so.text.packing import Packer

BUNDLED = Path(__file__).parents[1] / "pretrained"
"""The model that comes with the package; its card is README.md there."""

BUFFER = 1024
"""Sentences, counted once a pass, that are read ahead and batched by the length of documents."""

PATIENCE = 1.0
"""Seconds after which what has been read is answered, though there could be more of it."""

MOST_PASSES = 64
"""More would take time and memory, and give nothing."""


class Orderer:
    """Puts sentences in order. The same sentences come out the same however they are given.

    >>> orderer = Orderer.from_pretrained()
    >>> orderer.order(["Then they played.", "The family went to the fair."]).sentences
    ('The family went to the fair.', 'Then they played.')
    """

    def __init__(self, backend: Backend, packer: Packer | None = None) -> None:
        """packer: where the backend reads rows, that which fills them: documents that do not fit a
        row are then ordered by windows.
        """
        self.backend = backend
        self.packer = packer

    @classmethod
    def from_pretrained(cls, path: str | Path = BUNDLED) -> Self:
        """The bundled model, or that of a folder that `bert4so train` or `export` wrote."""
        if (Path(path) / "export.json").exists():
            # Late: onnxruntime is not needed to import the package.
            from bert4so.inference.onnx_model import ExportedModel

            exported = ExportedModel.load(Path(path))
            return cls(exported, exported.packer)
        if not (Path(path) / "run.toml").exists():
            raise UserError(f"{path}: no model here: wanted what `bert4so train` or `export` wrote")
        try:
            # The one place that looks upward: only a folder tells what it needs.
            from bert4so.training.checkpoint import load_model, packer_of
        except ModuleNotFoundError as error:
            raise UserError(
                f"{path} needs {error.name}, which is not installed: pip install 'bert4so[train]'"
            ) from None
        _, model = load_model(Path(path))
        return cls(model, packer_of(model))

    def order(self, sentences: Sequence[str], passes: int = 1) -> Ordering:
        """The order in which to read some sentences; more passes are a little surer, and slower."""
        return next(self.order_all([sentences], passes=passes))

    def order_all(
        self, documents: Iterable[Sequence[str]], progress: bool = False, passes: int = 1
    ) -> Iterator[Ordering]:
        """An ordering for each document, in the order given.

        Documents are read, batched by length and answered some at a time, so that they may be many
        more than fit in memory. With `progress`, a bar on stderr shows how far it is.
        """
        total = len(documents) if isinstance(documents, Sequence) else None
        return _ordered(self.build_backend(passes), documents, BUFFER // passes, total, progress)

    def build_backend(self, passes: int = 1) -> Backend:
        """The backend as `order` asks it: so many times, and by windows where that is needed."""
        if not 1 <= passes <= MOST_PASSES:
            raise UserError(f"passes = {passes}: wanted 1 to {MOST_PASSES}")
        passed = Passes(self.backend, passes)
        return passed if self.packer is None else Windows(passed, self.packer)

    def by_windows(self, sentences: Sequence[str]) -> bool:
        """Whether a document is more than the model reads at once."""
        return self.packer is not None and not fits_a_row(self.packer, _puzzle(sentences))


def _ordered(
    backend: Backend,
    documents: Iterable[Sequence[str]],
    buffer: int,
    total: int | None,
    progress: bool,
) -> Iterator[Ordering]:
    with progress_bar("ordering", total, shown=progress) as advance:
        for some in _buffers(documents, buffer):
            for ordering in backend.order(some):
                yield ordering
                advance(1)


def _buffers(documents: Iterable[Sequence[str]], buffer: int) -> Iterator[list[Puzzle]]:
    """The puzzles of some documents at a time: of so many sentences, or of one document."""
    waiting: list[Puzzle] = []
    sentences, began = 0, 0.0
    try:
        for document in documents:
            began = began if waiting else time.monotonic()
            waiting.append(_puzzle(document))
            sentences += len(waiting[-1].sentences)
            if sentences >= buffer or time.monotonic() - began > PATIENCE:
                yield waiting
                waiting, sentences = [], 0
    except Exception:
        # Of the source, or of a document: those before it are answered all the same.
        if waiting:
            yield waiting
        raise
    if waiting:
        yield waiting


def _puzzle(sentences: Sequence[str]) -> Puzzle:
    if isinstance(sentences, str):
        raise UserError(f"{sentences[:40]!r} is one string: wanted a list of sentences")
    return Puzzle(tuple(sentences))
