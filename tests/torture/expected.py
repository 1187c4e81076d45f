"""What a command must answer to a file, found without the code under test."""

import io
import json
import re
from collections import Counter
from itertools import groupby
from math import isfinite
from pathlib import Path

from torture.answers import ADDED, unpacked, wrong
from torture.commands import Result

ESCAPED = re.compile("[\udc80-\udcff]")
"""A byte that is not UTF-8."""

SKIPPED = re.compile(r"^skipped (\d+) in all$", re.MULTILINE)


def skipped(result: Result) -> int:
    match = SKIPPED.search(result.err)
    return int(match[1]) if match else 0


def text_of(path: Path) -> str | None:
    """The text of a file, unpacked, its bytes that are not UTF-8 escaped; None if it is cut."""
    try:
        content = unpacked(path.read_bytes(), path.suffix)
    except Exception:  # whatever the libraries say of damage
        return None
    text = content.decode("utf-8-sig", errors="surrogateescape")
    return io.StringIO(text, newline=None).read()


def _file_fault(text: str | None, result: Result) -> str:
    """What is wrong with success by itself; a line that is not UTF-8 may be skipped."""
    if text is None:
        return "the file is damaged, but the exit code is 0"
    if ESCAPED.search(text) and not skipped(result):
        return "the file is not UTF-8, but the exit code is 0, and nothing is skipped"
    return ""


def lines_of(text: str) -> list[str]:
    """The lines with something in them."""
    return [line for line in text.split("\n") if line.strip()]


def documents_of(text: str) -> int:
    """The number of runs of lines with something in them."""
    return sum(filled for filled, _ in groupby(text.split("\n"), lambda line: bool(line.strip())))


def text_fault(path: Path, result: Result) -> str:
    """What is wrong with an answer to text: each document must be answered, or be skipped."""
    text = text_of(path)
    return _file_fault(text, result) or _text_fault(text or "", result)


def _text_fault(text: str, result: Result) -> str:
    given = Counter(line.strip() for line in lines_of(text))
    printed = Counter(line for line in result.out.split("\n") if line)
    if skipped(result):
        lost = documents_of(text) - skipped(result) - documents_of(result.out)
        return f"added {printed - given}, lost {lost} documents" if lost or printed - given else ""
    return "" if given == printed else f"lost {given - printed}, added {printed - given}"[:500]


def jsonl_fault(path: Path, result: Result) -> str:
    """What is wrong with an answer to JSONL: each line must be answered, or be skipped."""
    text = text_of(path)
    return _file_fault(text, result) or _jsonl_fault(text or "", result)


def _jsonl_fault(text: str, result: Result) -> str:
    given, printed = lines_of(text), result.out.split("\n")[:-1]
    if len(printed) + skipped(result) != len(given):
        return f"{len(given)} lines, {len(printed)} answers, {skipped(result)} skipped"
    if text := answers_fault(result):
        return text
    answers = [json.loads(line) for line in printed]
    return _carried_fault(given, answers) if not skipped(result) else ""


def answers_fault(result: Result) -> str:
    """What is wrong with answers by themselves."""
    answers = map(json.loads, result.out.split("\n")[:-1])
    return next((text[:500] for answer in answers if (text := wrong(answer))), "")


def _carried_fault(given: list[str], answers: list[dict]) -> str:
    for line, answer in zip(given, answers, strict=True):
        before = {k: v for k, v in json.loads(line).items() if k not in ADDED}
        after = {k: v for k, v in answer.items() if k not in ADDED}
        if json.dumps(before) != json.dumps(after):
            return f"{line[:200]!r} became {str(after)[:200]}"
    return ""


def prepared_fault(path: Path, out: Path, result: Result) -> str:
    """What is wrong with a corpus made of JSONL: each line is a document, or skipped."""
    text = text_of(path)
    return _file_fault(text, result) or _prepared_fault(text or "", out, result)


def _prepared_fault(text: str, out: Path, result: Result) -> str:
    parts = json.loads((out / "corpus.json").read_text())["parts"].values()
    given, found = len(lines_of(text)), sum(part["documents"] for part in parts)
    if found + skipped(result) != given:
        return f"{given} lines, {found} documents, {skipped(result)} skipped"
    return ""


def metrics_fault(result: Result) -> str:
    """What is wrong with printed metrics: they must be finite numbers."""
    metrics = json.loads(result.out)["metrics"]
    values = {name: value for name, value in metrics.items() if not isfinite(value)}
    return f"metrics {values}" if values else ""
