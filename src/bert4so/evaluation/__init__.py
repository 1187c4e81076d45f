"""Metrics of orders, and what they say about a model."""
