"""What happened in a training run, step by step."""

from dataclasses import dataclass, field

from bert4so.metrics import Metrics


@dataclass(frozen=True)
class Step:
    """One step of training.

    learning_rate: that of the sentence encoder.
    tokens, cells: those of the batch, without and with its padding.
    seconds:       since training began, validation left out.
    """

    step: int
    epoch: int
    loss: float
    learning_rate: float
    tokens: int
    cells: int
    seconds: float


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

    @property
    def tokens_per_second(self) -> float:
        """Tokens learned from in a second; padding and validation do not count."""
        return sum(step.tokens for step in self.steps) / self.steps[-1].seconds

    @property
    def padding(self) -> float:
        """The share of all batches that was padding."""
        return 1 - sum(s.tokens for s in self.steps) / sum(s.cells for s in self.steps)
