"""Typed and validated settings."""
