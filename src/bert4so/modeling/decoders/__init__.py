"""Decoders: what the states say of the order, and how wrong they are about it."""
