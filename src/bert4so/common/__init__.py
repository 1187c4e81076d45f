"""What every package may use: progress, the machine, text columns, stable hashes."""
