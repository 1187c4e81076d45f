"""What an OUT of `order` holds, read by the libraries of its forms, and whether it is correct."""

import gzip
import json
from collections.abc import Sequence
from itertools import pairwise
from math import isclose, isfinite
from pathlib import Path
from typing import Any

import zstandard
from pyarrow import parquet

TOLERANCE = 1e-4
"""Of scores: a document is scored beside others after a resume, and rounded differently."""

ADDED = ("order", "scores", "confidence", "truncated")
"""The keys that `order` adds to a record."""

Record = dict[str, Any]


def read_answers(out: Path) -> list[Record]:
    """The records of an OUT that is complete; raises for any damage that the form can show."""
    if out.is_dir():
        return [row for part in sorted(out.glob("*.parquet")) for row in _rows(part)]
    lines = unpacked(out.read_bytes(), out.suffix).split(b"\n")
    assert lines.pop() == b"", f"{out.name} does not end with a line"
    return [json.loads(line) for line in lines]


def _rows(part: Path) -> list[Record]:
    rows = parquet.ParquetFile(part, page_checksum_verification=True).read().to_pylist()
    return [{k: v for k, v in row.items() if k != "other" or v} for row in rows]


def unpacked(content: bytes, suffix: str) -> bytes:
    """The bytes of a packed file, all of its members or frames; raises if it is cut."""
    if suffix == ".gz":
        return gzip.decompress(content)
    if suffix != ".zst":
        return content
    text, rest = b"", content
    while rest:
        frame = zstandard.ZstdDecompressor().decompressobj()
        text += frame.decompress(rest)
        assert frame.eof, "a frame is cut"
        rest = frame.unused_data
    return text


def difference(answers: Sequence[Record], expected: Sequence[Record]) -> str:
    """Where answers are not those expected, up to rounding; empty if nowhere."""
    if len(answers) != len(expected):
        return f"{len(answers)} answers, not {len(expected)}"
    for number, (answer, right) in enumerate(zip(answers, expected, strict=True)):
        if not _same(answer, right):
            return f"answer {number} is {str(answer)[:200]}, not {str(right)[:200]}"
    return ""


def _same(answer: Record, right: Record) -> bool:
    kept = [{k: v for k, v in some.items() if k not in ADDED} for some in (answer, right)]
    # As JSON, in which NaN equals itself.
    if json.dumps(kept[0]) != json.dumps(kept[1]) or answer.keys() != right.keys():
        return False
    return wrong(answer) == "" and all(
        isclose(a, b, abs_tol=TOLERANCE)
        for a, b in zip(answer["scores"], right["scores"], strict=True)
    )


def wrong(answer: Record) -> str:
    """What is wrong with an answer by itself: it must be a permutation, by finite scores."""
    count, order, scores = len(answer["sentences"]), answer["order"], answer["scores"]
    if sorted(order) != list(range(count)):
        return f"{order} is not a permutation of {count} sentences"
    if len(scores) != count or not all(map(isfinite, scores)):
        return f"the scores are {scores}"
    if any(scores[i] < scores[j] for i, j in pairwise(order)):
        return f"the order {order} is not that of the scores {scores}"
    if not (0 <= answer["confidence"] <= 1) or not set(answer["truncated"]) <= set(order):
        return f"confidence {answer['confidence']}, truncated {answer['truncated']}"
    return ""
