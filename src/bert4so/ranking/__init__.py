"""Orders from scores and pair probabilities (numpy)."""
