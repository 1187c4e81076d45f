"""The exceptions whose messages are written for the person at the keyboard."""


class UserError(ValueError):
    """An error that the user can fix: its message says what is wrong, where, and what to do.

    Invalid documents, corpora, models and settings all raise it. Errors of the file system, as a
    missing permission, stay an `OSError`; anything else is a bug in bert4so or in a `Backend`. As
    it is a `ValueError`, code that does not import bert4so can catch it, too. The command line
    prints it in one line, without a traceback, and exits with code 2.
    """

    exit_code = 2


class Stopped(UserError):  # noqa: N818 (the user has made no error)
    """The user asked to stop; what was done is kept."""

    exit_code = 128 + 2  # as a shell says of a program that Ctrl-C has ended


def os_message(error: OSError) -> str:
    """What the system says is wrong, and with what."""
    return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)


MAX_QUOTED_CHARACTERS = 200


def quote(value: object) -> str:
    """Show a value of the user's in an error message, shortened where it is long."""
    # A long string is cut before repr, which would write all of it.
    head = value[: MAX_QUOTED_CHARACTERS + 1] if isinstance(value, str) else value
    try:
        text = repr(head)
    except (ValueError, RecursionError):  # an integer of too many digits, a structure too deep
        return f"<{type(value).__name__}>"
    return _cut(text)


def shorten(text: str) -> str:
    """Show a name or message in an error message as it is, but in one line and not too long."""
    head = text[: MAX_QUOTED_CHARACTERS + 1]
    return _cut(head if head.isprintable() else repr(head)[1:-1])


def _cut(text: str) -> str:
    return text if len(text) <= MAX_QUOTED_CHARACTERS else text[: MAX_QUOTED_CHARACTERS - 1] + "…"
