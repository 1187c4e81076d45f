"""Read predicted and true orders from files, matched by document id, for `bert4so score`."""

from collections import Counter
from pathlib import Path

from bert4so.document import Order, check_order
from bert4so.errors import UserError, quote
from bert4so.evaluation.metrics import interchange
from bert4so.io.jsonl import Record, id_of, parse_records, sentences_of
from bert4so.io.lines import read_lines

Key = tuple[str, int]
"""An id and the number of its earlier occurrences: ids are not unique in every corpus."""


def read_pairs(predicted: Path, true: Path) -> list[tuple[Order, Order]]:
    """The (predicted, true) orders of each document in the true file."""
    answers, truths = _read(predicted), _read(true)
    for missing in truths.keys() - answers.keys():
        raise UserError(f"{predicted}: no order for document {quote(missing[0])} of {true}")
    for extra in answers.keys() - truths.keys():
        raise UserError(f"{predicted}: document {quote(extra[0])} is not in {true}")
    return [_pair(*answers[key], *truths[key]) for key in truths]


def _pair(answer_where: str, answer: Record, true_where: str, truth: Record) -> tuple[Order, Order]:
    predicted, true = answer["order"], truth["order"]
    if len(predicted) != len(true):
        lengths = f"{len(predicted)} sentences, but {true_where} has {len(true)}"
        raise UserError(f"{answer_where}: the order has {lengths}")
    if "sentences" not in truth:
        return predicted, true
    sentences = sentences_of(truth, true_where)
    if len(sentences) != len(true):
        raise UserError(f"{true_where}: {len(sentences)} sentences, but the order has {len(true)}")
    return interchange(predicted, true, sentences), true


def _read(path: Path) -> dict[Key, tuple[str, Record]]:
    """Each record with its location, after a check of its order."""
    seen = Counter[str]()
    records = {}
    for where, record in parse_records(read_lines(path), str(path)):
        name, order = id_of(record, where), record.get("order")
        try:
            check_order(order, len(order) if isinstance(order, list) else 0)
        except UserError as error:
            raise UserError(f"{where}: {error}") from None
        records[name, seen[name]] = where, record
        seen[name] += 1
    if not records:
        raise UserError(f"{path}: empty: must have one order per line")
    return records
