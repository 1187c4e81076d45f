"""Convert sentences to word pieces and words."""
