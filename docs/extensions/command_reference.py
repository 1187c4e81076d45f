"""The reference of the command line, made from the commands."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

from typer.core import TyperGroup
from typer.main import get_command

from bert4so.cli import app


def commands() -> str:
    """The reference of every command, in Markdown, as `--help` has it."""
    return "\n\n".join(_command(get_command(app), "bert4so"))


def _command(command: Any, path: str) -> Iterator[str]:
    # `Any`: some versions of typer use click, others bring their own.
    context = command.context_class(command, info_name=path)
    text = inspect.cleandoc(command.help or "").split("\n\n")
    examples = [part for part in text if part.startswith("bert4so ")]
    yield f"{'###' if path.count(' ') > 1 else '##'} {path}"
    yield from (_escaped(part) for part in text if part not in examples)
    yield f"```text\n{command.get_usage(context).removeprefix('Usage: ')}\n```"
    yield from (f"```bash\n{example}\n```" for example in examples)
    yield from _parameters(command, context)
    if isinstance(command, TyperGroup):
        for name, inner in command.commands.items():
            yield from _command(inner, f"{path} {name}")


def _parameters(command: Any, context: Any) -> Iterator[str]:
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    for name, text in (record for record in records if record):
        if "--help" not in name and "completion" not in name:
            yield f"`{name}`\n: {_escaped(text) or name}"


def _escaped(text: str) -> str:
    return re.sub(r"([<$*])", r"\\\1", text)
