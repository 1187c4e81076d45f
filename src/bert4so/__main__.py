"""`python -m bert4so`."""

from bert4so.cli import main

main()
