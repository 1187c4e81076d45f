"""`bert4so doctor`."""

import sys

from bert4so.cli.installation import findings


def doctor() -> None:
    """Say what is installed and what was found: versions, cores, extras, encoders, corpora.

    bert4so doctor
    """
    for name, finding in findings():
        sys.stdout.write(f"{name:12}{finding}\n")
