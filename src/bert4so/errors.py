"""The exceptions whose messages are written for the person at the keyboard."""


class UserError(Exception):
    """Something the user can put right. The command line prints it in one line, no traceback."""

    exit_code = 2


class Stopped(UserError):  # noqa: N818 (the user has made no error)
    """The user asked to stop; what was done is kept."""

    exit_code = 128 + 2  # as a shell says of a program that Ctrl-C has ended


def os_message(error: OSError) -> str:
    """What the system says is wrong, and with what."""
    return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)
