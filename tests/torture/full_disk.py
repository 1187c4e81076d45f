"""The disk is full: one line, and once there is space again the work goes on."""

from collections.abc import Iterable
from functools import partial

from torture.answers import difference, read_answers
from torture.commands import fault, forked_result, in_new_process
from torture.limits import HAS_FULL_DEVICE, file_limit, limit_file_size
from torture.trial import Kind, Outcome, Trial, failed, verdict
from torture.workspace import ANSWER_FORMS, size
from training import what_is_left


def full_disk(trial: Trial) -> Iterable[Outcome]:
    yield CASES[trial.number % len(CASES)](trial)


def answers(form: str, trial: Trial) -> Outcome:
    """`order --out`, then the same without a limit."""
    command, expected = trial.workspace.order(trial.folder, form), trial.workspace.answers(form)
    out = trial.folder / f"out{form}"
    limit = file_limit(trial.rng, size(expected / out.name))
    limited = in_new_process(*command, limit=limit)
    if wrong := fault(limited):
        return failed(f"{form}, {limit}: {wrong}")
    resumed = in_new_process(*command)
    if resumed.code:
        return failed(f"{form}, {limit}: it does not resume: {resumed.err[-300:]}")
    if wrong := difference(read_answers(out), read_answers(expected / out.name)):
        return failed(f"{form}, {limit}: {wrong}")
    return verdict(limited)


def run(trial: Trial) -> Outcome:
    """`train`, then the same without a limit."""
    training, out = trial.workspace.training, trial.folder / "run"
    expected = what_is_left(trial.workspace.run)
    limit = int(10 ** trial.rng.uniform(3, 6))
    limited = forked_result(training.start(out, before=partial(limit_file_size, limit)))
    if wrong := fault(limited):
        return failed(f"train, {limit} bytes: {wrong}")
    if limited.code:
        training.finish(out)
    if what_is_left(out) != expected:
        return failed(f"train, {limit} bytes: other weights or another history")
    return verdict(limited)


def corpus(trial: Trial) -> Outcome:
    """`data prepare` leaves no corpus that is not complete."""
    source, out = trial.workspace.corpus / "train.jsonl", trial.folder / "corpus"
    limit = file_limit(trial.rng, 2 * size(source))
    limited = in_new_process("data", "prepare", "jsonl", source, "--out", out, limit=limit)
    if wrong := fault(limited):
        return failed(f"data prepare, {limit}: {wrong}")
    if limited.code and (out / "corpus.json").exists():
        return failed(f"data prepare, {limit}: refused, but there is a data card")
    return verdict(limited)


def measurement(trial: Trial) -> Outcome:
    """`evaluate --out --report`."""
    limit, out = file_limit(trial.rng, int(10 ** trial.rng.uniform(3, 6))), trial.folder / "out"
    command = ["evaluate", "bundled", trial.workspace.corpus, "--out", out]
    command += ["--report", trial.folder / "report.html"]
    limited = in_new_process(*command, limit=limit)
    if wrong := fault(limited):
        return failed(f"evaluate, {limit}: {wrong}")
    return verdict(limited)


def printed(trial: Trial) -> Outcome:
    """stdout or stderr is a full disk."""
    corpus, descriptor = trial.workspace.corpus, trial.rng.choice([1, 1, 2])
    command = trial.rng.choice(
        [
            ["order", corpus / "test.jsonl"],
            ["order", corpus / "train.jsonl", "--out", trial.folder / "out.jsonl"],
            ["order", corpus / "missing.jsonl"],
            ["data", "stats", corpus],
            ["data", "check", corpus],
            ["data", "list"],
            ["doctor"],
            ["--help"],
        ]
    )
    result = in_new_process(*command, redirect=f"{descriptor}>/dev/full")
    wrong = fault(result) if descriptor == 1 else _exit_code_fault(result.code)
    if descriptor == 1 and result.code == 0:
        wrong = "nothing could be printed, but the exit code is 0"
    what = " ".join(map(str, command))
    return failed(f"{what}, /dev/full as {descriptor}: {wrong}") if wrong else verdict(result)


def _exit_code_fault(code: int) -> str:
    return "" if code in (0, 2) else f"exit code {code}"


CASES = (
    partial(answers, ANSWER_FORMS[0]),
    run,
    corpus,
    *([printed] * 3 if HAS_FULL_DEVICE else []),
    *(partial(answers, form) for form in ANSWER_FORMS[1:]),
    measurement,
)

KIND = Kind(
    name="full-disk",
    what="a full disk (files of limited size, /dev/full), then resumed",
    trials=80,
    sample=4,
    run=full_disk,
)
