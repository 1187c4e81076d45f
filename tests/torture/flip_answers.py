"""One bit of OUT, or of what stands beside it, is flipped; then `order --resume`."""

from collections.abc import Iterable
from pathlib import Path

from torture.answers import difference, read_answers
from torture.commands import fault, in_process
from torture.trial import HELD, REFUSED, Kind, Outcome, Trial, failed
from torture.workspace import ANSWER_FORMS, contents, copied, flip_bit


def flip_answers(trial: Trial) -> Iterable[Outcome]:
    form, workspace = ANSWER_FORMS[trial.number % len(ANSWER_FORMS)], trial.workspace
    source = trial.rng.choice([workspace.answers, workspace.unfinished_answers])(form)
    folder = copied(source, trial.folder / "answers")
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
    path = trial.rng.choice(files)
    place = flip_bit(path, trial.rng)
    damaged = contents(folder)
    result = in_process(*workspace.order(folder, form))
    what = f"byte {place} of {source.name}/{path.relative_to(folder)}"
    if wrong := fault(result):
        yield failed(f"{what}: {wrong}")
    elif result.code:
        changed = contents(folder) != damaged
        yield failed(f"{what}: refused, but files changed") if changed else REFUSED
    else:
        yield _resumed(trial, folder / f"out{form}", path, place, damaged, what)


def _resumed(
    trial: Trial, out: Path, path: Path, place: int, damaged: dict[str, bytes], what: str
) -> Outcome:
    name = str(path.relative_to(out.parent))
    before, after = damaged[name], path.read_bytes()
    is_answer = path == out or out in path.parents
    if is_answer and after[: place + 1] == before[: place + 1]:
        return failed(f"{what}: it goes unnoticed")
    expected = read_answers(trial.workspace.answers(out.name.removeprefix("out")) / out.name)
    wrong = difference(read_answers(out), expected)
    return failed(f"{what}: {wrong}") if wrong else HELD


KIND = Kind(
    name="flip-answers",
    what="a flipped bit in OUT and its state (all forms), resumed",
    trials=200,
    sample=1,
    run=flip_answers,
)
