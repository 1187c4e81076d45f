"""Orderer: sentences in, an ordering out, whatever model is behind it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self, overload

from bert4so.common.progress import progress_bar
from bert4so.document import Ordering
from bert4so.errors import UserError, quote
from bert4so.inference.attempts import Attempt, attempts
from bert4so.inference.backend import Backend
from bert4so.inference.passes import Passes
from bert4so.inference.windows import Windows
from bert4so.io.on_error import OnError, check_on_error
from bert4so.text.packing import Packer

BUNDLED = Path(__file__).parents[1] / "pretrained"
"""The model that comes with the package; its card is README.md there."""

BUFFER = 1024
"""Sentences, counted once a pass, that are read ahead and batched by the length of documents."""

MOST_PASSES = 64
"""More would take time and memory, and give nothing."""


class Orderer:
    """Puts the sentences of a document in order.

    The same sentences come out in the same order, however they are given. An orderer may be used
    by many threads at once and by forked processes, and one that `from_pretrained` loaded can be
    pickled: only the path of the model is, so that the folder must exist where it is unpickled.

    >>> orderer = Orderer.from_pretrained()
    >>> orderer.order(["Then they played.", "The family went to the fair."]).sentences
    ('The family went to the fair.', 'Then they played.')
    """

    def __init__(self, backend: Backend, packer: Packer | None = None) -> None:
        """Order with a backend of your own.

        Args:
            backend: Orders puzzles; see `Backend`.
            packer: For backends that read a document as one row of tokens: fills the rows.
                Documents that do not fit a row are then ordered by windows.
        """
        self.backend = backend
        self.packer = packer
        self._origin: tuple[Path, int | None] | None = None

    @classmethod
    def from_pretrained(cls, path: str | Path = "bundled", threads: int | None = None) -> Self:
        """Load a model.

        Args:
            path: A folder that `bert4so train` or `bert4so export` wrote, or `"bundled"` for the
                model that comes with the package.
            threads: Number of CPU threads to use; by default one per core that this process may
                use. With a PyTorch model it applies to all of PyTorch in this process, and the
                default is PyTorch's own.

        Raises:
            UserError: There is no model in the folder, or PyTorch is needed and not installed.
        """
        check_threads(threads)
        folder = BUNDLED if str(path) == "bundled" else Path(path)
        orderer = cls(*_load(folder, threads))
        orderer._origin = folder.absolute(), threads
        return orderer

    def order(self, sentences: Sequence[str], passes: int = 1) -> Ordering:
        """Order the sentences of one document.

        Args:
            sentences: The sentences, in any order.
            passes: Number of shuffles to read and average: more are a little more accurate, and
                that much slower.

        Raises:
            UserError: `sentences` is not a list of strings with text, or the model cannot order it.
        """
        (attempt,) = self._attempts([sentences], passes)
        if isinstance(attempt, UserError):
            raise attempt
        return attempt

    @overload
    def order_all(
        self,
        documents: Iterable[Sequence[str]],
        progress: bool = False,
        passes: int = 1,
        on_error: Literal["raise"] = "raise",
    ) -> Iterator[Ordering]: ...

    @overload
    def order_all(
        self,
        documents: Iterable[Sequence[str]],
        progress: bool = False,
        passes: int = 1,
        *,
        on_error: Literal["skip"],
    ) -> Iterator[Ordering | None]: ...

    def order_all(
        self,
        documents: Iterable[Sequence[str]],
        progress: bool = False,
        passes: int = 1,
        on_error: OnError = "raise",
    ) -> Iterator[Ordering | None]:
        """Order many documents; their orderings come in the order of the documents.

        Documents are read, batched by length and ordered some at a time, so there may be many more
        than fit in memory, or no end of them.

        Args:
            documents: The sentences of each document, in any order: a list of lists, a generator.
            progress: Show a progress bar on stderr.
            passes: As for `order`.
            on_error: What to do with a document that cannot be ordered: `"raise"` a `UserError`
                that names its number, counted from 0, after the orderings of the documents before
                it; or `"skip"` it and give None in its place. Errors of the model, and of
                `documents` itself, are always raised.
        """
        check_on_error(on_error)
        if isinstance(documents, str | bytes | Mapping) or not isinstance(documents, Iterable):
            kind = type(documents).__name__
            raise UserError(f"wanted a list of documents (got {kind}: {quote(documents)})")
        answers = self._attempts(documents, passes)
        total = len(documents) if isinstance(documents, Sequence) else None
        return _with_errors(answers, on_error, total, progress)

    def build_backend(self, passes: int = 1) -> Backend:
        """The backend as `order` asks it: so many times, and by windows where that is needed."""
        if not isinstance(passes, int) or not 1 <= passes <= MOST_PASSES:
            raise UserError(f"passes = {quote(passes)}: wanted 1 to {MOST_PASSES}")
        passed = Passes(self.backend, passes)
        return passed if self.packer is None else Windows(passed, self.packer)

    def _attempts(self, documents: Iterable[object], passes: int) -> Iterator[Attempt]:
        return attempts(self.build_backend(passes), documents, BUFFER // passes)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Pickle the path of the model, and of a backend of the user's the backend."""
        if self._origin is None:
            return type(self), (self.backend, self.packer)
        folder, threads = self._origin
        # The package may be elsewhere in the process that unpickles it.
        return type(self).from_pretrained, ("bundled" if folder == BUNDLED else folder, threads)


def check_threads(threads: int | None) -> None:
    """Refuse a number of threads that is not one."""
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise UserError(f"threads = {quote(threads)}: must be at least 1")


def _load(folder: Path, threads: int | None) -> tuple[Backend, Packer | None]:
    """The model of a folder, and what fills its rows."""
    if (folder / "export.json").exists():
        # Late: onnxruntime is not needed to import the package.
        from bert4so.inference.onnx_model import ExportedModel

        exported = ExportedModel.load(folder, threads)
        return exported, exported.packer
    if not (folder / "run.toml").exists():
        raise UserError(f"{folder}: no model here: wanted what `bert4so train` or `export` wrote")
    try:
        # The one place that looks upward: only a folder tells what it needs.
        from bert4so.training.checkpoint import load_model, packer_of, set_threads
    except ModuleNotFoundError as error:
        raise UserError(
            f"{folder} needs {error.name}, which is not installed: pip install 'bert4so[train]'"
        ) from None
    set_threads(threads)
    _, model = load_model(folder)
    return model, packer_of(model)


def _with_errors(
    answers: Iterable[Attempt], on_error: OnError, total: int | None, progress: bool
) -> Iterator[Ordering | None]:
    with progress_bar("ordering", total, shown=progress) as advance:
        for number, attempt in enumerate(answers):
            if isinstance(attempt, Ordering):
                yield attempt
            elif on_error == "skip":
                yield None
            else:
                raise UserError(f"document {number}: {attempt}")
            advance(1)
