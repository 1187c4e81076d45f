"""The one exception whose message is written for the person at the keyboard."""


class UserError(Exception):
    """Something the user can put right. The command line prints it in one line, no traceback."""
