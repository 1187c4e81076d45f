"""The results page: tables, figures and verdicts."""
