"""Training a system."""
