"""Random and damaged files through the command, in this process and in new ones."""

import stat
from collections.abc import Iterable

from torture.commands import Result, fault, in_new_process, in_process
from torture.draw import Command, draw
from torture.trial import Kind, Outcome, Trial, failed, verdict
from torture.workspace import contents

SECONDS = 30

STDIN, STDOUT, STDERR = range(3)


def files_in_process(trial: Trial) -> Iterable[Outcome]:
    """A tiny model, which is loaded in no time."""
    command = draw(trial)
    before = _kept(command)
    model = ["--model", trial.workspace.run] if command.needs_model else []
    result = in_process(*command.arguments, *model, stdin=command.stdin, seconds=SECONDS)
    yield _judged(trial, command, before, result, fault(result))


def files_in_new_process(trial: Trial) -> Iterable[Outcome]:
    """The bundled model; in one of ten, stdin, stdout or stderr is closed."""
    command = draw(trial)
    before = _kept(command)
    closed = trial.rng.choice([STDIN, STDOUT, STDERR]) if trial.rng.random() < 0.1 else None
    result = in_new_process(
        *command.arguments,
        stdin=command.stdin,
        redirect="" if closed is None else f"{closed}>&-",
        seconds=SECONDS,
    )
    if closed is None:
        yield _judged(trial, command, before, result, fault(result))
    else:
        wrong = _fault_when_closed(result, closed)
        what = f"{_shown(trial, command)}, {closed} closed"
        yield failed(f"{what}: {wrong}") if wrong else verdict(result)


def _fault_when_closed(result: Result, closed: int) -> str:
    if closed == STDERR:
        return "" if result.code in (0, 2) else f"exit code {result.code}"
    if closed == STDOUT and result.code == 0:
        return "nothing could be printed, but the exit code is 0"
    return fault(result)


def _judged(trial: Trial, command: Command, before: object, result: Result, wrong: str) -> Outcome:
    if not wrong and _kept(command) != before:
        wrong = f"it changed {command.kept}"
    if not wrong and result.code == 0:
        wrong = command.check(result)
    return failed(f"{_shown(trial, command)}: {wrong}") if wrong else verdict(result)


def _kept(command: Command) -> object:
    path = command.kept
    if path is None or stat.S_ISFIFO(path.stat().st_mode):
        return None
    return contents(path)


def _shown(trial: Trial, command: Command) -> str:
    words = ("bert4so", *command.arguments)
    return " ".join(map(str, words)).replace(f"{trial.folder}/", "")


IN_PROCESS = Kind(
    name="files",
    what="random and damaged files through main()",
    trials=5000,
    sample=60,
    run=files_in_process,
)
IN_NEW_PROCESS = Kind(
    name="processes",
    what="the same in new processes, some without stdin, stdout or stderr",
    trials=200,
    sample=2,
    run=files_in_new_process,
)
