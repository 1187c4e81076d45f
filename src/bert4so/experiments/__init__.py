"""Experiments: grids of runs, and the tables and figures of their results."""
