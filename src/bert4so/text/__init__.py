"""Sentences to word pieces and words."""
