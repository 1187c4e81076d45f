"""The number of cells left in an experiment, and an estimate of their time."""

from collections.abc import Sequence
from statistics import median

from bert4so.experiments.finished_cell import FinishedCell
from bert4so.experiments.plan_file import PlannedCell
from bert4so.experiments.store import CellStore


def remaining(store: CellStore, shard: Sequence[str], name: str) -> str:
    """The line that is shown when a cell of a shard begins.

    The time left is estimated from all finished cells of the experiment, including other shards.
    """
    finished = store.finished()
    left = [store.plan.cells[one] for one in shard if one not in finished]
    minutes_left = [_expected_minutes(cell, list(finished.values())) for cell in left]
    line = f"cell {shard.index(name) + 1} of {len(shard)}: {name}; {len(left)} left"
    if any(minutes_left):
        hours, minutes = divmod(round(sum(minutes_left)), 60)
        unknown = minutes_left.count(0)
        line += f", about {hours}:{minutes:02} h"
        line += f" and {unknown} of unknown duration" if unknown else ""
    return line


def _expected_minutes(cell: PlannedCell, finished: Sequence[FinishedCell]) -> float:
    """The median minutes of the finished cells most similar to a cell.

    Without any, the time limit of the cell, which is 0 if it trains for a number of epochs.
    """
    limit = float(cell.settings["minutes"])
    # Runs with another time limit, or limited by epochs, say nothing about this one.
    same_limit = [one for one in finished if one.settings.minutes == limit]
    of_corpus = [one for one in same_limit if one.corpus == cell.corpus]
    of_system = [one for one in of_corpus if one.system == cell.system]
    # With a time limit, other corpora still show how long validation and testing take.
    nearest = of_system or of_corpus or (same_limit if limit else [])
    return median(one.wall_minutes for one in nearest) if nearest else limit
