"""A finished cell (run) of an experiment, as stored in its JSON file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Facts = Mapping[str, Any]


@dataclass(frozen=True)
class Scores:
    """Metrics on a split: Kendall's tau and PMR (as a share), averaged over documents."""

    tau: float
    pmr: float
    documents: int


@dataclass(frozen=True)
class Validation:
    """One validation: the step, the minutes of training so far, and the metrics."""

    step: int
    minutes: float
    tau: float
    pmr: float


@dataclass(frozen=True)
class WordVectors:
    """A file of word vectors and its number of words."""

    file: str
    words: int


@dataclass(frozen=True)
class Machine:
    """The machine of a run.

    spinning: whether waiting threads spin, so that waiting counts as CPU time.
    """

    processor: str
    cores: int
    threads: int
    spinning: bool
    torch: str

    @property
    def label(self) -> str:
        """What times depend on. Runs with the same label count as runs on one machine."""
        spinning = " that spin" if self.spinning else ""
        return f"{self.processor}, {self.threads} threads{spinning}"


@dataclass(frozen=True)
class RunSettings:
    """The settings of a run that the tables need; `all` has all settings, nested.

    minutes:                         time limit; 0 if the run was limited by epochs.
    encoder, gamma, aggregation:     None if the system has no such setting.
    valid_documents, test_documents: maximum number of documents; 0 means all.
    """

    seed: int
    minutes: float
    joined: bool
    batch: int
    epochs: int
    encoder: str | None
    gamma: float | None
    aggregation: str | None
    valid_documents: int
    test_documents: int
    all: Facts


@dataclass(frozen=True)
class FinishedCell:
    """A finished run.

    system:            name in the experiment.
    corpus:            name in the paper.
    steps, tokens:     training steps, and tokens trained on, without padding.
    epoch_tokens:      tokens of all training documents.
    cpu_minutes:       CPU time of training per thread.
    test_cpu_seconds:  CPU time of ordering the test documents per thread.
    test_set:          hash of the shuffled test documents.
    lengths, taus:     number of sentences and Kendall's tau of each test document.
    tokens_per_second: training speed in each fifth of the run.
    seconds_for:       time to order one document, by its number of sentences.
    tagger:            tagger that found the nouns; None if the system needs none.
    source:            hash of the source code of this package.
    """

    name: str
    system: str
    corpus: str
    settings: RunSettings
    machine: Machine
    valid: Scores
    test: Scores
    training_documents: int
    steps: int
    tokens: int
    epoch_tokens: int
    cpu_minutes: float
    test_cpu_seconds: float
    wall_minutes: float
    test_set: str
    lengths: Sequence[int]
    taus: Sequence[float]
    tokens_per_second: Sequence[float]
    validations: Sequence[Validation]
    seconds_for: Mapping[int, float]
    vectors: WordVectors | None
    tagger: str | None
    source: str


def parse_cell(facts: Facts) -> FinishedCell:
    """Parse the JSON object of a finished cell; KeyError if a key is missing."""
    metrics, vectors = facts["metrics"], facts["vectors"]
    return FinishedCell(
        name=facts["cell"],
        system=facts["system"],
        corpus=facts["corpus"],
        settings=_settings(metrics["run"]),
        machine=_machine(metrics["machine"], facts["threads"]),
        valid=_scores(metrics["valid"]),
        test=_scores(metrics["test"]),
        training_documents=metrics["training_documents"],
        steps=metrics["steps"],
        tokens=metrics["tokens"],
        epoch_tokens=metrics["epoch_tokens"],
        cpu_minutes=metrics["cpu_minutes"],
        test_cpu_seconds=metrics["test_cpu_seconds"],
        wall_minutes=facts["wall_minutes"],
        test_set=facts["puzzles"],
        lengths=tuple(facts["documents"]["sentences"]),
        taus=tuple(facts["documents"]["tau"]),
        tokens_per_second=tuple(facts["tokens_per_second"]),
        validations=tuple(Validation(**one) for one in facts["validations"]),
        seconds_for={int(n): seconds for n, seconds in facts["seconds_for"].items()},
        vectors=WordVectors(vectors["file"], vectors["words"]) if vectors else None,
        tagger=facts["tagger"],
        source=facts["source"],
    )


def _settings(run: Facts) -> RunSettings:
    model, train = run["model"], run["train"]
    return RunSettings(
        seed=run["seed"],
        minutes=run["minutes"],
        joined=bool(run["join"]),
        batch=train["batch"],
        epochs=train["epochs"],
        encoder=model.get("encoder"),
        gamma=model.get("gamma"),
        aggregation=model.get("aggregation"),
        valid_documents=run["valid_documents"],
        test_documents=run["test_documents"],
        all=run,
    )


def _machine(facts: Facts, threads: int) -> Machine:
    return Machine(
        processor=facts["processor"],
        cores=facts["cores"],
        threads=threads,
        spinning=facts.get("OMP_WAIT_POLICY") == "active",
        torch=facts["torch"],
    )


def _scores(metrics: Facts) -> Scores:
    return Scores(metrics["tau"], metrics["pmr"], metrics["documents"])
