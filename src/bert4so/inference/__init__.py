"""Ordering documents without PyTorch."""
