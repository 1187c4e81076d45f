"""Metrics of orders, and the evaluation of models."""
