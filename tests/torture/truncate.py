"""Compressed files that are cut: what is missing is not passed over in silence."""

import json
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_LZMA, ZIP_STORED

from torture import packed
from torture.answers import difference, read_answers
from torture.commands import Result, fault, in_process
from torture.trial import HELD, REFUSED, Kind, Outcome, Trial, failed
from torture.workspace import ANSWER_FORMS, contents, copied

CUTS = 50
STEP = 17
"""Coprime to CUTS, so that a sample has cuts everywhere."""


def truncate(trial: Trial) -> Iterable[Outcome]:
    case, number = CASES[trial.number % len(CASES)], trial.number // len(CASES)
    cut = (CUTS // 2 + STEP * number) % CUTS
    yield case(cut / CUTS, trial)


def ordered(suffix: str, content: bytes, frames: int, share: float, trial: Trial) -> Outcome:
    """`order` of a file that is cut."""
    path = _written(trial, f"in{suffix}", content, frames, share)
    command = ["order", path, "--format", "jsonl", "--model", trial.workspace.run]
    result = in_process(*command)
    return _judged(f"order {suffix}", result, result.out.count("\n"))


def _written(trial: Trial, name: str, content: bytes, frames: int, share: float) -> Path:
    path = trial.folder / name
    pack = packed.PACKERS.get(path.suffix, bytes)
    pieces = packed.in_frames(pack, content) if frames > 1 else [pack(content)]
    path.write_bytes(packed.cut_frames(pieces, share))
    return path


def _judged(
    what: str, result: Result, found: int, complete: int = packed.DOCUMENTS, left: str = ""
) -> Outcome:
    """left: what is there though the command was refused."""
    if wrong := fault(result):
        return failed(f"{what}: {wrong}")
    if result.code:
        return failed(f"{what}: refused, but {left} is there") if left else REFUSED
    return HELD if found == complete else failed(f"{what}: {found} of {complete}, exit code 0")


def prepared(
    form: str, suffix: str, content: bytes, frames: int, share: float, trial: Trial
) -> Outcome:
    """`data prepare` of a file that is cut."""
    path = _written(trial, f"ROCStories{suffix}", content, frames, share)
    return _prepared(trial, form, path, packed.DOCUMENTS)


def _prepared(trial: Trial, form: str, path: Path, complete: int, *options: str) -> Outcome:
    out = trial.folder / "out"
    result = in_process("data", "prepare", form, path, "--out", out, *options)
    card = out / "corpus.json"
    parts = json.loads(card.read_text())["parts"] if card.exists() else {}
    found = sum(part["documents"] for part in parts.values())
    left = str(card) if card.exists() else ""
    return _judged(f"data prepare {form} {path.name}", result, found, complete, left)


def zip_member(method: int, share: float, trial: Trial) -> Outcome:
    """A member of a zip file is a bad record, which --skip-bad leaves out."""
    path = trial.folder / "awards.zip"
    path.write_bytes(packed.zip_with_cut_member(method, share))
    if trial.rng.random() < 0.9:  # the other takes seconds: its running text is split
        return _prepared(trial, "nsf-awards", path, 3)
    outcome = _prepared(trial, "nsf-awards", path, 2, "--skip-bad")
    return failed("--skip-bad does not skip a cut member") if outcome is REFUSED else outcome


def measured(suffix: str, share: float, trial: Trial) -> Outcome:
    """A split of a corpus is cut."""
    folder = trial.folder / "corpus"
    folder.mkdir()
    content = packed.PACKERS[suffix](packed.jsonl())
    (folder / f"test.jsonl{suffix}").write_bytes(packed.cut_frames([content], share))
    result = in_process("evaluate", trial.workspace.run, folder, "--count-single", "--json")
    found = json.loads(result.out)["metrics"]["documents"] if result.code == 0 else 0
    return _judged(f"evaluate test.jsonl{suffix}", result, found)


def resumed(form: str, share: float, trial: Trial) -> Outcome:
    """OUT, or one of its parts, is cut; then `order --resume`."""
    source = trial.workspace.answers(form)
    out = copied(source, trial.folder / "answers") / f"out{form}"
    path = trial.rng.choice(sorted(out.iterdir())) if out.is_dir() else out
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    damaged = contents(out)
    result = in_process(*trial.workspace.order(out.parent, form))
    if wrong := fault(result):
        return failed(f"OUT{form}: {wrong}")
    if result.code:
        changed = contents(out) != damaged
        return failed(f"OUT{form}: refused, but it changed") if changed else REFUSED
    wrong = difference(read_answers(out), read_answers(source / out.name))
    return failed(f"OUT{form}: {wrong}") if wrong else HELD


CASES = (
    *(partial(ordered, f".jsonl{end}", packed.jsonl(), 1) for end in packed.PACKERS),
    *(partial(ordered, f".txt{end}", packed.text(), packed.FRAMES) for end in packed.PACKERS),
    partial(ordered, ".parquet", packed.parquet_file(), 1),
    *(
        partial(prepared, "jsonl", f".jsonl{end}", packed.jsonl(), frames)
        for end in packed.PACKERS
        for frames in (1, packed.FRAMES)
    ),
    *(partial(prepared, "csv", f".csv{end}", packed.table(), 1) for end in packed.PACKERS),
    *(partial(prepared, "text", f".txt{end}", packed.text(), 1) for end in packed.PACKERS),
    partial(prepared, "parquet", ".parquet", packed.parquet_file(), 1),
    partial(prepared, "nsf-awards", ".zip", packed.zip_file(), 1),
    *(partial(zip_member, method) for method in (ZIP_STORED, ZIP_DEFLATED, ZIP_BZIP2, ZIP_LZMA)),
    *(partial(measured, end) for end in packed.PACKERS),
    *(partial(resumed, form) for form in ANSWER_FORMS if form != ".jsonl"),
)

KIND = Kind(
    name="truncate",
    what="compressed files cut at every 1/50 (.gz, .zst, zip members, Parquet, OUT)",
    trials=CUTS * len(CASES),
    sample=len(CASES) - 2,
    run=truncate,
)
