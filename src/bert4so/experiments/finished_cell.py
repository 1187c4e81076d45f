"""A finished run of an experiment, as its JSON file has it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Facts = Mapping[str, Any]


@dataclass(frozen=True)
class Scores:
    """What was measured on a split: Kendall's tau and PMR (a share), averaged over documents."""

    tau: float
    pmr: float
    documents: int


@dataclass(frozen=True)
class Validation:
    """One validation: after which step and how many minutes of training, and what it measured."""

    step: int
    minutes: float
    tau: float
    pmr: float


@dataclass(frozen=True)
class WordVectors:
    """A file of word vectors, and the number of its words."""

    file: str
    words: int


@dataclass(frozen=True)
class Machine:
    """What a run was made on.

    spinning: threads that wait count as working, so their CPU time is worth less.
    """

    processor: str
    cores: int
    threads: int
    spinning: bool
    torch: str

    @property
    def label(self) -> str:
        """What times depend on: two runs are of one machine if they have the same label."""
        spinning = " that spin" if self.spinning else ""
        return f"{self.processor}, {self.threads} threads{spinning}"


@dataclass(frozen=True)
class RunSettings:
    """The settings of a run that the tables read; `all` has every one, nested.

    minutes:                         the time limit; 0 if the run was by epochs.
    encoder, gamma, aggregation:     None if the system has no such setting.
    valid_documents, test_documents: the most that were used; 0 is all.
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

    system:            its name in the experiment.
    corpus:            its name in the paper.
    steps, tokens:     that it was trained for and on, padding not counted.
    epoch_tokens:      the tokens of all training documents.
    cpu_minutes:       CPU time of training by thread; test_cpu_seconds that of ordering the test
                       documents.
    test_set:          a hash of the shuffled test documents.
    lengths, taus:     of each test document, its number of sentences and its Kendall's tau.
    tokens_per_second: the training speed in each fifth of the run.
    seconds_for:       the time to order one document, by its number of sentences.
    tagger:            what found the nouns; None if the system needs none.
    source:            a hash of the version of this package.
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
    """The finished cell that a JSON object describes; KeyError if something is missing."""
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
