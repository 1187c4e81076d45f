"""Damage to the bytes of a file, and records that no program should have written."""

import json
from collections.abc import Callable
from random import Random

TOKENS = (
    *(b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\r\n", b"\n\n"),
    *(b'"', b'""', b"'", b",", b"\t"),
    *(b"{", b"}", b"[" * 5000, b'{"a":' * 5000, b"9" * 5000, b"-1e999", b"NaN", b"null", b"true"),
    *(b'\\ud800"', b"\\u0000", b"\xed\xa0\x80", b"<eos>", b"&amp;", b"<!DOCTYPE a>", b"&a;"),
    *(b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"PAR1", b"PK\x03\x04", b"../../etc/passwd"),
    *("\u2028".encode(), "\x85".encode(), "\u202e".encode(), b"a" * 200_000, b" " * 10_000),
)  # fmt: skip

VALUES: tuple[object, ...] = (
    *(None, True, 0, -1, 10**400, 1e308, float("nan"), float("inf"), "", " ", "a", "\ud800"),
    *([], [[]], {}, {"a": {}}, [None], [1], ["a", 2], ["", "a"], [["a"]], ["\x00", "b"]),
    *([0], [1, 0], [0, 0], [1], [-1, 0], [0.0, 1.0], [True, False], [10**400, 0], ["0", "1"]),
    *(["a"] * 300, ["x" * 50_000, "y"], "a" * 100_000, [[[["a"]]]]),
)  # fmt: skip
KEYS = ("sentences", "id", "order", "scores", "other", "confidence", "truncated", "", "\ud800")


def _flip(content: bytes, rng: Random) -> bytes:
    changed = bytearray(content)
    changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _delete(content: bytes, rng: Random) -> bytes:
    start = rng.randrange(len(content))
    return content[:start] + content[start + rng.randint(1, 40) :]


def _repeat(content: bytes, rng: Random) -> bytes:
    start = rng.randrange(len(content))
    return content[:start] + content[start : start + 200] * 2 + content[start + 200 :]


def _insert(content: bytes, rng: Random) -> bytes:
    start = rng.randrange(len(content) + 1)
    return content[:start] + rng.choice(TOKENS) + content[start:]


def _cut(content: bytes, rng: Random) -> bytes:
    return content[: rng.randrange(len(content))]


def _random(content: bytes, rng: Random) -> bytes:
    start = rng.randrange(len(content))
    return content[:start] + rng.randbytes(rng.randint(1, 30)) + content[start:]


def _shuffle_lines(content: bytes, rng: Random) -> bytes:
    lines = content.split(b"\n")
    rng.shuffle(lines)
    return b"\n".join(lines)


def _latin_1(content: bytes, rng: Random) -> bytes:
    return content.decode(errors="replace").encode("latin-1", errors="replace")


def _windows(content: bytes, rng: Random) -> bytes:
    return b"\xef\xbb\xbf" + content.replace(b"\n", b"\r\n")


DAMAGES: tuple[Callable[[bytes, Random], bytes], ...] = (
    *(_flip, _flip, _delete, _repeat, _insert, _insert, _insert, _cut, _random),
    *(_shuffle_lines, _latin_1, _windows),
)


def damaged(content: bytes, rng: Random) -> bytes:
    """Content with up to three things wrong; none in one of four."""
    for _ in range(rng.choice([0, 1, 1, 1, 1, 2, 2, 3])):
        if content:
            content = rng.choice(DAMAGES)(content, rng)
    return content


def hostile_line(rng: Random) -> bytes:
    """A line of JSON with a value that may not be what is expected."""
    record: dict[str, object] = {"id": "a", "sentences": ["b", "a"], "order": [1, 0]}
    for _ in range(rng.randint(1, 2)):
        record[rng.choice(KEYS)] = rng.choice(VALUES)
    return json.dumps(record).encode() + b"\n"
