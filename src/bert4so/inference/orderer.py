"""`Orderer`: the public interface to every model, from sentences to an ordering."""

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
"""Folder of the model that comes with the package; README.md in it is the model card."""

BUFFER_SENTENCES = 1024
"""Number of sentences to read ahead and batch by document length; each pass counts separately."""

MAX_PASSES = 64
"""More passes take time and memory without improving the result."""


class Orderer:
    """Puts the sentences of a document in order.

    The result depends on the sentences only, not on their input order. An orderer can be used by
    several threads at the same time and by forked processes. One that `from_pretrained` loaded can
    be pickled: the pickle holds only the path of the model, so the folder must exist where it is
    unpickled.

    >>> orderer = Orderer.from_pretrained()
    >>> orderer.order(["Then they played.", "The family went to the fair."]).sentences
    ('The family went to the fair.', 'Then they played.')
    """

    def __init__(self, backend: Backend, packer: Packer | None = None) -> None:
        """Use a backend of your own.

        Args:
            backend: Orders puzzles; see `Backend`.
            packer: Packs documents into rows, for backends that read a document as one row of
                tokens. Documents that do not fit into a row are then ordered by windows.
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
            threads: Number of CPU threads; by default one per core available to this process. For
                a PyTorch model it applies to all of PyTorch in this process, and the default is
                PyTorch's own.

        Raises:
            UserError: The folder has no model, or the model requires PyTorch, which is not
                installed.
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
            passes: Number of shuffles to average: more passes are slightly more accurate; the time
                grows in proportion.

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
        """Order many documents; yields their orderings in input order.

        Documents are read ahead, batched by length and ordered one buffer at a time, so the input
        can be larger than memory, or endless.

        Args:
            documents: The sentences of each document, in any order: for example a list of lists, or
                a generator.
            progress: Show a progress bar on stderr.
            passes: As for `order`.
            on_error: What to do with a document that cannot be ordered: `"raise"` a `UserError`
                with its number, counted from 0, after yielding the orderings of the documents
                before it; or `"skip"` it and yield None in its place. Errors of the model, and of
                `documents` itself, are always raised.
        """
        check_on_error(on_error)
        if isinstance(documents, str | bytes | Mapping) or not isinstance(documents, Iterable):
            kind = type(documents).__name__
            raise UserError(
                f"documents must be a list of lists of sentences (got {kind}: {quote(documents)})"
            )
        results = self._attempts(documents, passes)
        total = len(documents) if isinstance(documents, Sequence) else None
        return _with_errors(results, on_error, total, progress)

    def build_backend(self, passes: int = 1) -> Backend:
        """The backend that `order` uses: averages passes, and uses windows for long documents."""
        if not isinstance(passes, int) or not 1 <= passes <= MAX_PASSES:
            raise UserError(
                f"passes must be an integer from 1 to {MAX_PASSES} (got {quote(passes)})"
            )
        averaged = Passes(self.backend, passes)
        return averaged if self.packer is None else Windows(averaged, self.packer)

    def _attempts(self, documents: Iterable[object], passes: int) -> Iterator[Attempt]:
        return attempts(self.build_backend(passes), documents, BUFFER_SENTENCES // passes)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Pickle the path of a model that was loaded, or the backend that was passed in."""
        if self._origin is None:
            return type(self), (self.backend, self.packer)
        folder, threads = self._origin
        # The package may have another path where it is unpickled.
        return type(self).from_pretrained, ("bundled" if folder == BUNDLED else folder, threads)


def check_threads(threads: int | None) -> None:
    """Raise `UserError` unless `threads` is None or a positive integer."""
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise UserError(f"threads must be an integer of at least 1 (got {quote(threads)})")


def _load(folder: Path, threads: int | None) -> tuple[Backend, Packer | None]:
    """Load the model of a folder, and the packer of its rows, if it has one."""
    if (folder / "export.json").exists():
        # Imported here: importing the package must not load onnxruntime.
        from bert4so.inference.onnx_model import ExportedModel

        exported = ExportedModel.load(folder, threads)
        return exported, exported.packer
    if not (folder / "run.toml").exists():
        raise UserError(
            f"{folder}: no model here: "
            "must be a folder that `bert4so train` or `bert4so export` wrote"
        )
    try:
        # The only import of a higher layer: the folder determines whether PyTorch is needed.
        from bert4so.training.checkpoint import load_model, packer_of, set_threads
    except ModuleNotFoundError as error:
        raise UserError(
            f"{folder} needs {error.name}, which is not installed: pip install 'bert4so[train]'"
        ) from None
    set_threads(threads)
    _, model = load_model(folder)
    return model, packer_of(model)


def _with_errors(
    results: Iterable[Attempt], on_error: OnError, total: int | None, progress: bool
) -> Iterator[Ordering | None]:
    with progress_bar("ordering", total, shown=progress) as advance:
        for number, attempt in enumerate(results):
            if isinstance(attempt, Ordering):
                yield attempt
            elif on_error == "skip":
                yield None
            else:
                raise UserError(f"document {number}: {attempt}")
            advance(1)
