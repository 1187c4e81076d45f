"""Where answers are written: JSONL or Parquet, as its name says."""

from pathlib import Path

from bert4so.errors import UserError
from bert4so.io.jsonl_writer import PACKERS, Frames
from bert4so.io.output_state import Settings, state_path
from bert4so.io.parquet_writer import Parts
from bert4so.io.resumable_writer import Answers


def open_answers(path: Path, resume: bool, settings: Settings) -> Answers:
    """The answers at a path, in the form of its suffix.

    resume:   whether to continue what is there.
    settings: all that the answers depend on, besides the documents.
    """
    packed = path.suffix in PACKERS and ".jsonl" in path.suffixes[-2:]
    if path.suffix != ".parquet" and not packed:
        raise UserError(f"{path}: wanted a name in .jsonl, .jsonl.gz, .jsonl.zst or .parquet")
    if path.exists():
        _check_ours(path, resume)
    path.parent.mkdir(parents=True, exist_ok=True)
    return Parts(path, settings) if path.suffix == ".parquet" else Frames(path, settings)


def _check_ours(path: Path, resume: bool) -> None:
    """Refuse to continue what `bert4so order` did not begin."""
    right = path.is_dir() if path.suffix == ".parquet" else path.is_file()
    if not right:
        wanted = "folder" if path.suffix == ".parquet" else "regular file"
        raise UserError(f"{path}: not a {wanted}: choose another --out")
    if not resume:
        raise UserError(f"{path} already exists: pass --resume to continue it, or delete it")
    if not state_path(path).exists():
        raise UserError(
            f"{path}: cannot resume: not written by `bert4so order --out`, or its "
            f"{state_path(path).name} is missing: choose another --out, or delete it"
        )
