"""Snapshots of a training run, from which `--resume` continues as without interruption.

A snapshot is one safetensors file, written completely or not at all. Values other than tensors are
JSON in its header, next to a SHA-256 of the whole file. Snapshots are numbered by training step.
The newest two are kept until the run is finished.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from bert4so.common.progress import say
from bert4so.errors import UserError, quote
from bert4so.evaluation.metrics import Metrics
from bert4so.io.atomic import atomic_file
from bert4so.training.history import History, Step, Validation

MAX_SNAPSHOTS = 2
FORMAT = "3"
FORMAT_WITHOUT_HASHES = "2"
"""The format before FORMAT, without a checksum and without hashes of the documents."""

STEPS = "history.steps"
"""The steps as a tensor, one row each, because the length of a header is limited."""

CHECKSUM = "sha256"
NO_CHECKSUM = "0" * 64
"""Takes the place of the checksum in the header while the checksum is computed."""

LENGTH_BYTES = 8
"""A safetensors file begins with the length of its header."""

BLOCK_BYTES = 1 << 20


@dataclass(frozen=True)
class Snapshot:
    """The state of a run.

    run:       its configuration, as values.
    history:   steps and validations so far; their number determines the position in the epoch.
    learner:   plain values of `Learner.state`.
    tensors:   weights, optimizer state, states of the random number generators of every process.
    documents: a hash per split of the documents (see `data.corpus.hashes`); empty if unknown.
    """

    run: dict[str, Any]
    history: History
    learner: dict[str, Any]
    tensors: dict[str, Tensor]
    documents: dict[str, str] = field(default_factory=dict)


class DamagedError(Exception):
    """A file is not what `write_snapshot` wrote."""


def write_snapshot(folder: Path, snapshot: Snapshot) -> None:
    """Write a snapshot, then delete those that are no longer needed."""
    snapshots = folder / "snapshots"
    snapshots.mkdir(exist_ok=True)
    for left in snapshots.glob("*.partial"):  # of a process that was killed: a disk may be full
        left.unlink()
    history = snapshot.history
    facts = {
        "run": snapshot.run,
        "validations": [asdict(validation) for validation in history.validations],
        "learner": snapshot.learner,
        "documents": snapshot.documents,
    }
    header = {"bert4so": FORMAT, "facts": json.dumps(facts), CHECKSUM: NO_CHECKSUM}
    steps = torch.tensor([astuple(step) for step in history.steps], dtype=torch.float64)
    path = snapshots / f"{len(history.steps):08d}.safetensors"
    _write_with_checksum(path, save({**snapshot.tensors, STEPS: steps}, header))
    _prune(snapshots, path)


def newest_snapshot(folder: Path) -> Snapshot | None:
    """The newest undamaged snapshot of a run's folder; None if the run has no snapshots."""
    paths = _by_step(folder / "snapshots")[::-1]
    for path in paths:
        try:
            snapshot = _read(path)
        except DamagedError as error:
            say(f"{path} is damaged ({error}): trying the snapshot before it")
            continue
        if path != paths[0]:
            say(f"resuming from {path}; the next snapshot replaces the damaged one")
        return snapshot
    if paths:
        raise UserError(
            f"{folder / 'snapshots'}: all snapshots are damaged: restore one from a backup, "
            f"or delete {folder} and train again"
        )
    return None


def clear_snapshots(folder: Path) -> None:
    """Delete all snapshots: the run is finished."""
    snapshots = folder / "snapshots"
    for path in snapshots.glob("*"):
        path.unlink()
    if snapshots.exists():
        snapshots.rmdir()


def _write_with_checksum(path: Path, content: bytes) -> None:
    """Write a safetensors file with its checksum in place of NO_CHECKSUM."""
    start = content.index(_entry(NO_CHECKSUM))
    end = start + len(_entry(NO_CHECKSUM))
    entry = _entry(hashlib.sha256(content).hexdigest())
    view = memoryview(content)  # a copy would take as much memory as the model and its optimizer
    try:
        with atomic_file(path) as file:
            for part in (view[:start], entry, view[end:]):
                file.write(part)
    except OSError:
        with suppress(OSError):  # free the space on a full disk
            path.with_name(f"{path.name}.partial").unlink()
        raise


def _entry(checksum: str) -> bytes:
    """The checksum as the header contains it.

    Nothing else in a header looks like this: in a value, quotation marks are escaped.
    """
    return f'"{CHECKSUM}":"{checksum}"'.encode()


def _prune(snapshots: Path, newest: Path) -> None:
    """Delete all but the newest snapshots.

    Those of later steps are the damaged ones before which the run was resumed.
    """
    paths = _by_step(snapshots)
    count = paths.index(newest) + 1
    for path in [*paths[count:], *paths[:count][:-MAX_SNAPSHOTS]]:
        path.unlink()


def _by_step(snapshots: Path) -> list[Path]:
    """The snapshots, earliest first; files with other names are ignored."""
    numbered = [p for p in snapshots.glob("*.safetensors") if p.stem.isdecimal()]
    return sorted(numbered, key=lambda path: int(path.stem))


def _read(path: Path) -> Snapshot:
    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            _check(path, header)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        facts = json.loads(header["facts"])
        history = _history(tensors.pop(STEPS), facts["validations"])
        documents = facts.get("documents", {})
        return Snapshot(facts["run"], history, facts["learner"], tensors, documents)
    except SafetensorError as error:
        raise DamagedError(str(error)) from None
    except UserError:  # a subclass of ValueError; raised for a file of another version
        raise
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        # A file of the format without a checksum, or of another program.
        raise DamagedError(f"{type(error).__name__}: {error}") from None


def _check(path: Path, header: dict[str, str]) -> None:
    """Raise for a wrong checksum or an unknown format.

    The checksum is verified first, because the format field can be damaged too.
    """
    if CHECKSUM in header:
        if _checksum(path, header[CHECKSUM]) != header[CHECKSUM]:
            raise DamagedError("its checksum does not match")
    elif header.get("bert4so") != FORMAT_WITHOUT_HASHES:
        raise DamagedError("it has no checksum")
    if header.get("bert4so") not in (FORMAT, FORMAT_WITHOUT_HASHES):
        raise UserError(
            f"{path}: snapshot format {quote(header.get('bert4so'))}, but this version of bert4so "
            f"reads format {FORMAT}: resume with the version that started the run"
        )


def _checksum(path: Path, recorded: str) -> str:
    """The SHA-256 of a file, its recorded checksum replaced by NO_CHECKSUM."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        length = file.read(LENGTH_BYTES)
        header = file.read(int.from_bytes(length, "little"))
        digest.update(length + header.replace(_entry(recorded), _entry(NO_CHECKSUM)))
        while block := file.read(BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


def _history(steps: Tensor, validations: list[dict[str, Any]]) -> History:
    return History(
        steps=list(_steps(steps)),
        validations=[
            Validation(v["step"], v["epoch"], Metrics(**v["metrics"])) for v in validations
        ],
    )


def _steps(rows: Tensor) -> Iterator[Step]:
    for step, epoch, loss, rate, tokens, padded, seconds, cpu_seconds in rows.tolist():
        counts = int(tokens), int(padded)
        yield Step(int(step), int(epoch), loss, rate, *counts, seconds, cpu_seconds)
