"""Typed, strict settings."""
