"""Train a system."""
