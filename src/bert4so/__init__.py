"""Puts sentences in order."""

from bert4so.document import Decision, Document, Order, Ordering, Puzzle
from bert4so.errors import UserError
from bert4so.inference.backend import Backend
from bert4so.inference.orderer import Orderer

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
