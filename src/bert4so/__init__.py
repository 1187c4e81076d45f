"""Puts sentences in order."""

from bert4so.document import Decision, Document, Order, Ordering, Puzzle
from bert4so.errors import UserError
from bert4so.orderer import Backend, Orderer

__all__ = [
    "Backend",
    "Decision",
    "Document",
    "Order",
    "Orderer",
    "Ordering",
    "Puzzle",
    "UserError",
]
