"""The results page: verdicts, tables and figures."""
