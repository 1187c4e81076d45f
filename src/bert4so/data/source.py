"""Documents to be put in order: text or JSONL, whichever a file holds."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from bert4so.data.jsonl import Record, parse_records, sentences_of
from bert4so.data.lines import read_lines
from bert4so.data.text import parse_text
from bert4so.errors import UserError


def read_source(path: Path) -> tuple[bool, Iterator[Record]]:
    """Whether the file is JSONL, and its records, each with its "sentences".

    It is JSONL where its name says so, or where its first line begins with {.
    """
    lines = read_lines(path)
    head = []
    for line in lines:
        head.append(line)
        if line.strip():
            break
    else:
        raise UserError(f"{path}: empty: wanted sentences")
    whole = chain(head, lines)
    if ".jsonl" in path.suffixes or head[-1].lstrip().startswith("{"):
        return True, _checked(whole, path)
    return False, ({"sentences": list(sentences)} for sentences in parse_text(whole))


def _checked(lines: Iterator[str], path: Path) -> Iterator[Record]:
    for where, record in parse_records(lines, str(path)):
        sentences_of(record, where)
        yield record
