"""`train` is killed again and again; in the end the run is as if it had not been."""

import time
from collections.abc import Iterable
from functools import partial

from torture.trial import Kind, Outcome, Trial, Verdict, failed
from training import what_is_left

KILLS = 5
"""Per run."""

LATEST_SECONDS = 0.1
"""After a snapshot, and after the start."""


def kill_train(trial: Trial) -> Iterable[Outcome]:
    training = trial.workspace.training
    expected, out = what_is_left(trial.workspace.run), trial.folder / "run"
    kills = 0
    for k in range(KILLS):
        process = training.start(out)
        # In fifths of the run; sometimes before it begins, or while it writes its report.
        steps = (k * training.STEPS + trial.rng.randrange(training.STEPS)) // KILLS
        process.wait_for(partial(training.has_snapshot, out, steps))
        time.sleep(trial.rng.random() * LATEST_SECONDS)
        process.kill()
        process.communicate()
        kills += process.returncode < 0
        if process.returncode == 0:
            break
    if not (out / "metrics.json").exists():
        training.finish(out)
    if what_is_left(out) == expected:
        yield Outcome(Verdict.held, tries=kills)
    else:
        yield failed(f"after {kills} kills, other weights or another history", kills)


KIND = Kind(
    name="kill-train",
    what="kill -9 of `train` (tiny encoder, a snapshot per step), resumed",
    trials=20,
    sample=1,
    run=kill_train,
)
