"""`bert4so doctor`."""

import sys

from bert4so.cli.installation import findings


def doctor() -> None:
    """Show versions, cores, extras, encoders and corpora.

    bert4so doctor
    """
    for name, finding in findings():
        sys.stdout.write(f"{name:12}{finding}\n")
