"""Decoders: from states to an order, and the loss of the states against the true order."""
