"""Open an output file: the suffix selects JSONL or Parquet."""

from pathlib import Path

from bert4so.errors import UserError
from bert4so.io.jsonl_writer import COMPRESSORS, JsonlWriter
from bert4so.io.output_state import Settings, state_path
from bert4so.io.parquet_writer import ParquetWriter
from bert4so.io.resumable_writer import ResumableWriter


def open_writer(path: Path, resume: bool, settings: Settings) -> ResumableWriter:
    """Open an output file for writing; its suffix selects the format.

    resume:   whether to continue an existing file.
    settings: everything besides the documents that the answers depend on.
    """
    is_jsonl = path.suffix in COMPRESSORS and ".jsonl" in path.suffixes[-2:]
    if path.suffix != ".parquet" and not is_jsonl:
        raise UserError(f"{path}: the name must end in .jsonl, .jsonl.gz, .jsonl.zst or .parquet")
    if path.exists():
        _check_ours(path, resume)
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = ParquetWriter if path.suffix == ".parquet" else JsonlWriter
    return writer(path, settings)


def _check_ours(path: Path, resume: bool) -> None:
    """Refuse to continue an output that `bert4so order` did not write."""
    has_right_kind = path.is_dir() if path.suffix == ".parquet" else path.is_file()
    if not has_right_kind:
        kind = "folder" if path.suffix == ".parquet" else "regular file"
        raise UserError(f"{path}: not a {kind}: choose another --out")
    if not resume:
        raise UserError(f"{path} already exists: pass --resume to continue it, or delete it")
    if not state_path(path).exists():
        raise UserError(
            f"{path}: cannot resume: not written by `bert4so order --out`, or its "
            f"{state_path(path).name} is missing: choose another --out, or delete it"
        )
