"""One bit of an unfinished run, or of its corpus, is flipped; then `train --resume`."""

from collections.abc import Iterable
from pathlib import Path

from torture.commands import fault, forked_result
from torture.trial import HELD, REFUSED, Kind, Outcome, Trial, failed
from torture.workspace import copied, flip_bit
from training import CORPUS_FILES, what_is_left


def flip_training(trial: Trial) -> Iterable[Outcome]:
    training, source = trial.workspace.training, trial.workspace.unfinished_run
    expected = what_is_left(trial.workspace.run)
    run = copied(source, trial.folder / "run")
    for name in CORPUS_FILES:
        (trial.folder / name).write_bytes((training.place / name).read_bytes())
    path = trial.rng.choice(_files(run, trial.folder))
    what = f"byte {flip_bit(path, trial.rng)} of {path.relative_to(trial.folder)}"
    result = forked_result(training.start("run", place=trial.folder))
    if wrong := fault(result):
        yield failed(f"{what}: {wrong}")
    elif result.code:
        yield REFUSED
    else:
        same = what_is_left(run) == expected
        yield HELD if same else failed(f"{what}: other weights or another history, unnoticed")


def _files(run: Path, corpus: Path) -> list[Path]:
    """The files to choose from: each snapshot as often as all the others."""
    found = sorted(path for path in run.rglob("*") if path.is_file() and path.stat().st_size)
    snapshots = [path for path in found if path.parent.name == "snapshots"]
    others = [*(p for p in found if p not in snapshots), *(corpus / name for name in CORPUS_FILES)]
    return [*others, *snapshots * (len(others) // 2)]


KIND = Kind(
    name="flip-training",
    what="a flipped bit in an unfinished run (snapshots first) or its corpus, resumed",
    trials=60,
    sample=2,
    run=flip_training,
)
