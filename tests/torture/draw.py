"""Commands on random and damaged files, and what they must answer."""

import csv
import io
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random

import pyarrow
from pyarrow import parquet

from torture import packed
from torture.commands import Result
from torture.damage import damaged, hostile_line
from torture.expected import (
    answers_fault,
    jsonl_fault,
    metrics_fault,
    prepared_fault,
    text_fault,
)
from torture.texts import document
from torture.trial import Trial

SUFFIXES = ("", "", ".gz", ".zst")

Check = Callable[[Result], str]


@dataclass(frozen=True)
class Command:
    """A command on drawn files.

    check:      what is wrong with its answer, if it succeeds; empty if nothing is.
    needs_model: whether it takes the option --model.
    kept:       a file that it must not change.
    """

    arguments: list[object]
    check: Check = lambda result: ""
    needs_model: bool = False
    kept: Path | None = None
    stdin: bytes = b""


def draw(trial: Trial) -> Command:
    """A command; with --skip-bad, where it has that, in one of three."""
    make = trial.rng.choices(list(COMMANDS), list(COMMANDS.values()))[0]
    command = make(trial)
    has_skip_bad = command.arguments[0] == "order" or command.arguments[1] == "prepare"
    if has_skip_bad and trial.rng.random() < 0.35:
        return replace(command, arguments=[*command.arguments, "--skip-bad"])
    return command


def _written(trial: Trial, name: str, content: bytes) -> Path:
    """A file of some content, perhaps packed, and perhaps damaged, before or after."""
    rng = trial.rng
    suffix = "" if name.endswith((".parquet", ".zip", ".json")) else rng.choice(SUFFIXES)
    before = rng.random() < 0.8
    path = trial.folder / f"{name}{suffix}"
    path.parent.mkdir(exist_ok=True)
    whole = packed.PACKERS.get(suffix, bytes)(damaged(content, rng) if before else content)
    path.write_bytes(whole if before else damaged(whole, rng))
    return path


def _documents(rng: Random) -> list[list[str]]:
    return [document(rng) for _ in range(rng.choice([0, 1, 2, 5, 10]))]


def _jsonl(rng: Random) -> bytes:
    lines = packed.jsonl(_documents(rng)).splitlines(keepends=True)
    lines += [hostile_line(rng) for _ in range(rng.choice([0, 0, 1, 2]))]
    rng.shuffle(lines)
    return b"".join(lines)


def _text(rng: Random) -> bytes:
    documents = ("\n".join(some) for some in _documents(rng))
    return "\n\n".join(documents).encode(errors="replace")


def _csv(rng: Random) -> bytes:
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(["storyid", *(f"sentence{k}" for k in range(1, 6))])
    for k, some in enumerate(_documents(rng)):
        writer.writerow([k, *(some * 5)[:5]])
    return file.getvalue().encode(errors="replace")


def _parquet(rng: Random) -> bytes:
    file = io.BytesIO()
    documents = [[s.encode(errors="replace").decode() for s in some] for some in _documents(rng)]
    days = [rng.choice([0, 1, -(10**9), 10**9]) for _ in documents]
    columns = {
        "sentences": pyarrow.array(documents, pyarrow.list_(pyarrow.string())),
        "day": pyarrow.array(days, pyarrow.timestamp("s")),
    }
    parquet.write_table(pyarrow.table(columns), file)
    return file.getvalue()


def _vist(rng: Random) -> bytes:
    rows = [
        [{"story_id": f"{k}", "worker_arranged_photo_order": i, "original_text": sentence}]
        for k, some in enumerate(_documents(rng))
        for i, sentence in enumerate(some)
    ]
    return json.dumps({"annotations": rows}).encode()


def _abstracts(rng: Random) -> bytes:
    lines = (" <eos> ".join(some).replace("\n", " ") for some in _documents(rng))
    return "\n".join(lines).encode(errors="replace")


def _orders(rng: Random) -> bytes:
    counts = [rng.randint(1, 5) for _ in range(rng.choice([1, 2, 5]))]
    records = [{"id": f"{k}", "order": rng.sample(range(n), n)} for k, n in enumerate(counts)]
    return "".join(f"{json.dumps(record)}\n" for record in records).encode()


def order_jsonl(trial: Trial) -> Command:
    path = _written(trial, "in.jsonl", _jsonl(trial.rng))
    return Command(["order", path], partial(jsonl_fault, path), needs_model=True, kept=path)


def order_text(trial: Trial) -> Command:
    path = _written(trial, "in.txt", _text(trial.rng))
    return Command(["order", path], partial(text_fault, path), needs_model=True, kept=path)


def order_parquet(trial: Trial) -> Command:
    path = _written(trial, "in.parquet", _parquet(trial.rng))
    return Command(["order", path], answers_fault, needs_model=True, kept=path)


def order_stdin(trial: Trial) -> Command:
    content = damaged(trial.rng.choice([_jsonl, _text])(trial.rng), trial.rng)
    return Command(["order", "--format", "jsonl"], answers_fault, needs_model=True, stdin=content)


def order_into_foreign(trial: Trial) -> Command:
    """OUT is a file that `order` did not write: it must not be touched."""
    source = trial.folder / "source.jsonl"
    source.write_bytes(packed.jsonl([["b", "a"]] * 3))
    kind = trial.rng.choice([".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet"])
    out = trial.folder / f"out{kind}"
    if trial.rng.random() < 0.03:
        os.mkfifo(out)
    elif kind == ".parquet" and trial.rng.random() < 0.7:
        out.mkdir()
        name = trial.rng.choice(["part-00000.parquet", "mine.parquet", "notes.txt"])
        (out / name).write_bytes(damaged(_parquet(trial.rng), trial.rng) or b"x")
    else:
        content = damaged(trial.rng.choice([_jsonl, _text, _parquet])(trial.rng), trial.rng)
        out.write_bytes(packed.PACKERS.get(out.suffix, bytes)(content or b'{"my": 1}'))
    arguments = ["order", source, "--out", out, *trial.rng.choice([["--resume"], []])]
    return Command(arguments, lambda result: "a foreign OUT is accepted", True, kept=out)


def prepare_jsonl(trial: Trial) -> Command:
    path, out = _written(trial, "in.jsonl", _jsonl(trial.rng)), trial.folder / "out"
    arguments = ["data", "prepare", "jsonl", path, "--out", out]
    return Command(arguments, partial(prepared_fault, path, out), kept=path)


def prepare(form: str, name: str, content: Callable[[Random], bytes], trial: Trial) -> Command:
    path, out = _written(trial, name, content(trial.rng)), trial.folder / "out"
    return Command(["data", "prepare", form, path, "--out", out], kept=path)


def _award(rng: Random) -> bytes:
    return rng.choice([packed.zip_file(), packed.zip_with_cut_member(8, 1.0)])


def _corpus(trial: Trial) -> Path:
    """A corpus, one file of which may be damaged."""
    rng, folder = trial.rng, trial.folder / "corpus"
    for path in sorted(trial.workspace.corpus.iterdir()):
        _copied(path, folder)
    if rng.random() < 0.5:
        card = folder / "corpus.json"
        card.write_bytes(damaged(card.read_bytes(), rng))
    else:
        (folder / "test.jsonl").unlink()
        _written(trial, "corpus/test.jsonl", _jsonl(rng))
    return folder


def _copied(path: Path, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    (folder / path.name).write_bytes(path.read_bytes())


def corpus_command(trial: Trial) -> Command:
    return Command(["data", trial.rng.choice(["check", "stats"]), _corpus(trial)])


def evaluate(trial: Trial) -> Command:
    arguments = ["evaluate", trial.workspace.run, _corpus(trial), "--json"]
    return Command([*arguments, "--passes", trial.rng.randint(0, 2)], metrics_fault)


def score(trial: Trial) -> Command:
    true = _orders(trial.rng)
    files = [_written(trial, f"{name}.jsonl", true) for name in ("predicted", "true")]
    return Command(["score", *files, "--json", "--count-single"], metrics_fault)


def compare(trial: Trial) -> Command:
    true = _orders(trial.rng)
    names = ("one", "other", "true")
    return Command(["compare", *(_written(trial, f"{name}.jsonl", true) for name in names)])


COMMANDS: dict[Callable[[Trial], Command], float] = {
    order_jsonl: 25,
    order_text: 12,
    order_parquet: 8,
    order_stdin: 8,
    order_into_foreign: 8,
    prepare_jsonl: 10,
    partial(prepare, "csv", "in.csv", _csv): 6,
    partial(prepare, "rocstory", "ROCStories.csv", _csv): 4,
    partial(prepare, "text", "in.txt", _text): 3,
    partial(prepare, "parquet", "in.parquet", _parquet): 4,
    partial(prepare, "sind", "train.story-in-sequence.json", _vist): 4,
    partial(prepare, "neurips", "train.lower", _abstracts): 3,
    # Running text is split by processes of its own, which take a second to start.
    partial(prepare, "nsf-awards", "awards.zip", _award): 0.5,
    partial(prepare, "paragraphs", "in.txt", _text): 0.5,
    corpus_command: 8,
    evaluate: 5,
    score: 6,
    compare: 3,
}
"""How to draw a command, and how often."""
