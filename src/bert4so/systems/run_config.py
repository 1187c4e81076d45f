"""A run's configuration: a file, what the command line adds, and the system's own numbers."""

from collections.abc import Sequence
from functools import reduce
from pathlib import Path

from bert4so.common.value_trees import merge
from bert4so.config.schema import RunConfig, Values, checked, nearest
from bert4so.config.toml import parse_assignment, read_toml
from bert4so.errors import UserError, quote
from bert4so.systems import SYSTEMS
from bert4so.systems.protocol import System


def read_run(path: Path, assignments: Sequence[str] = ()) -> RunConfig:
    """The run that a TOML file describes, `table.key=value` assignments laid over it.

    What neither says is the system's own number at the scale asked for.
    """
    given = reduce(merge, map(parse_assignment, assignments), read_toml(path))
    where = f"{path} with --set {' --set '.join(assignments)}" if assignments else str(path)
    return make_run(given, where)


def make_run(given: Values, where: str, like: str = "") -> RunConfig:
    """The run that some values describe; `where` says, in an error, where they came from.

    like: the corpus of the paper whose numbers are taken; that of the folder's name if not given.
    """
    system = system_named(given.get("system"), where)
    numbers = _numbers(system, given, like or Path(str(given.get("corpus"))).name)
    for table in ("model", "train"):
        if not isinstance(numbers[table], dict):
            raise UserError(f"{where}: {table} = {quote(numbers[table])}: must be a table")
    # The model's table is checked by the system's own class, then stands in the run as it is.
    model = checked(system.Config, numbers["model"], f"{where} [model]")
    return checked(RunConfig, {**numbers, "model": model}, where)


def system_named(name: object, where: str) -> System:
    """The system of this name."""
    if name is None:
        raise UserError(f'{where}: missing key "system" (known: {", ".join(SYSTEMS)})')
    if not isinstance(name, str) or name not in SYSTEMS:
        hint = nearest(name if isinstance(name, str) else "", list(SYSTEMS))
        raise UserError(f"{where}: system = {quote(name)}: no such system ({hint})")
    return SYSTEMS[name]


def _numbers(system: System, given: Values, corpus: str) -> Values:
    """The given values over the system's own."""
    own: Values = {"model": {}, "train": system.TRAINING.model_dump(exclude_none=True)}
    at_desk = system.CPU_PRESET if given.get("scale") == "desk" else {}
    by_corpus: dict[str, Values] = getattr(system, "BY_CORPUS", {})
    return reduce(merge, [at_desk, by_corpus.get(corpus, {}), given], own)
