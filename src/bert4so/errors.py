"""Exceptions that the user can fix, and quoting of values in error messages."""


class UserError(ValueError):
    """An error that the user can fix: its message says what is wrong, where, and what to do.

    Invalid documents, corpora, models and settings all raise it. File system errors such as a
    missing permission remain `OSError`; any other exception is a bug in bert4so or in a `Backend`.
    It is a `ValueError`, so that code that does not import bert4so can catch it. The command line
    prints the message on one line, without a traceback, and exits with code 2.
    """

    exit_code = 2


class UnreadableFileError(UserError):
    """A file is truncated, damaged or cannot be read: this is never skipped as a bad record."""


class Stopped(UserError):  # noqa: N818 (the user has made no error)
    """The user interrupted the command; finished work is kept."""

    exit_code = 128 + 2  # the code that shells use after Ctrl-C


def os_message(error: OSError) -> str:
    """The operating system's message and the file that it concerns."""
    return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)


MAX_QUOTED_CHARACTERS = 200


def quote(value: object) -> str:
    """Quote a value of the user's in an error message, shortened if it is long."""
    # Cut a long string before repr, which would process all of it.
    head = value[: MAX_QUOTED_CHARACTERS + 1] if isinstance(value, str) else value
    try:
        text = repr(head)
    except (
        ValueError,
        RecursionError,
    ):  # an integer is too long, or a structure too deep
        return f"<{type(value).__name__}>"
    return _cut(text)


def shorten(text: str) -> str:
    """Show a name or message in an error message without quotes, on one line, shortened."""
    head = text[: MAX_QUOTED_CHARACTERS + 1]
    return _cut(head if head.isprintable() else repr(head)[1:-1])


def _cut(text: str) -> str:
    return text if len(text) <= MAX_QUOTED_CHARACTERS else text[: MAX_QUOTED_CHARACTERS - 1] + "…"
