"""Where answers are written: JSONL or Parquet, as its name says."""

from pathlib import Path

from bert4so.errors import UserError
from bert4so.io.jsonl_writer import CODECS, Frames
from bert4so.io.parquet_writer import Parts
from bert4so.io.resumable_writer import Answers


def open_answers(path: Path, resume: bool) -> Answers:
    """The answers of a path, by the end of its name; to `resume` is to go on with what is there."""
    if path.exists() and not resume:
        raise UserError(f"{path} exists: --resume goes on with it; else remove it first")
    packed = path.suffix in CODECS and ".jsonl" in path.suffixes[-2:]
    if path.suffix != ".parquet" and not packed:
        raise UserError(f"{path}: wanted a name in .jsonl, .jsonl.gz, .jsonl.zst or .parquet")
    path.parent.mkdir(parents=True, exist_ok=True)
    return Parts(path) if path.suffix == ".parquet" else Frames(path)
