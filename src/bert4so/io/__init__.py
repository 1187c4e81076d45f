"""Files: reading, writing, formats, locks."""
