"""What happened in a training run, step by step."""

from dataclasses import dataclass, field
from statistics import median

from bert4so.evaluation.metrics import Metrics


@dataclass(frozen=True)
class Step:
    """One step of training.

    learning_rate: that of the sentence encoder.
    tokens, cells: those of the batch, without and with its padding.
    seconds:       since training began, validation left out.
    spent:         the same in CPU time by thread: other work on the machine does not count.
    """

    step: int
    epoch: int
    loss: float
    learning_rate: float
    tokens: int
    cells: int
    seconds: float
    spent: float


@dataclass(frozen=True)
class Validation:
    """What the model is worth on the validation documents after so many steps."""

    step: int
    epoch: int
    metrics: Metrics

    @property
    def worth(self) -> float:
        """What models are chosen by (BERT4SO, appendix C): tau + PMR, both as fractions."""
        return self.metrics.tau + self.metrics.pmr


@dataclass(frozen=True)
class History:
    """All steps and validations of a run."""

    steps: list[Step] = field(default_factory=list)
    validations: list[Validation] = field(default_factory=list)

    @property
    def best(self) -> Validation:
        """The validation of most worth, the first of equals."""
        return max(self.validations, key=lambda validation: validation.worth)

    def waited(self, patience: int) -> bool:
        """Whether so many validations have come since the best; never for 0."""
        if not self.validations:
            return False
        since = len(self.validations) - 1 - self.validations.index(self.best)
        return 0 < patience <= since

    @property
    def tokens_per_second(self) -> float:
        """Tokens learned from in a second, padding left out: the median over the steps.

        The median, since other work on the machine slows some steps and not others.
        """
        began = [0.0, *(step.seconds for step in self.steps)]
        rates = (s.tokens / (s.seconds - b) for s, b in zip(self.steps, began, strict=False))
        return median(rates)

    @property
    def padding(self) -> float:
        """The share of all batches that was padding."""
        return 1 - sum(s.tokens for s in self.steps) / sum(s.cells for s in self.steps)
