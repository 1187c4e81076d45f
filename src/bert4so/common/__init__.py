"""Shared by all packages: progress bars, facts about the machine, text tables, stable hashes."""
