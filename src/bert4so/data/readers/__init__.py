"""Corpora as their authors hand them out, and documents in common forms."""
