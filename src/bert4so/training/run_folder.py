"""The folder of a run: used by one training job at a time, and only for this run."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from bert4so.errors import UserError
from bert4so.io.lock import locked_file
from bert4so.training.distributed import processes, refuse_together

LOCK = "train.lock"
BEFORE_RUN_TOML = {LOCK, "run.toml.partial"}
"""Files that a job can leave if it is killed before it writes run.toml."""


@contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Reserve the folder for this job; create it if needed. Raises if another job has it.

    The main process of a distributed job takes the lock, and all its processes raise if it cannot.
    If the folder was created here and is still empty at the end, it is removed.
    """
    with ExitStack() as held:
        with refuse_together():
            if processes().is_main_process:
                held.enter_context(_created(folder))
                held.enter_context(
                    locked_file(
                        folder / LOCK,
                        f"{folder}: another process is training in this folder: wait for it to "
                        "end, or choose another folder",
                    )
                )
        yield


def check_folder(folder: Path, resume: bool) -> None:
    """Raise unless the folder is empty or, if `resume`, has the unfinished run.

    In a distributed job the main process checks, before anything is written.
    """
    with refuse_together():
        if processes().is_main_process:
            _check_folder(folder, resume)


def _check_folder(folder: Path, resume: bool) -> None:
    if (folder / "metrics.json").exists():
        raise UserError(f"{folder} contains a finished run: choose another folder with --out")
    if all(path.name in BEFORE_RUN_TOML for path in folder.iterdir()):
        return
    if not (folder / "run.toml").is_file():
        raise UserError(
            f"{folder} is neither empty nor a run (it has no run.toml): "
            "choose another folder with --out"
        )
    if not resume:
        raise UserError(
            f"{folder} contains an unfinished run: pass --resume to continue it, "
            "or choose another folder with --out"
        )


@contextmanager
def _created(folder: Path) -> Iterator[None]:
    new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        if new:
            with suppress(OSError):  # not empty
                folder.rmdir()
