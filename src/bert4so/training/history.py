"""The steps and validations of a training run."""

from dataclasses import dataclass, field
from statistics import median

from bert4so.evaluation.metrics import Metrics


@dataclass(frozen=True)
class Step:
    """One training step.

    learning_rate: of the sentence encoder.
    tokens:        number of tokens of the batch, without padding.
    padded_tokens: number of tokens of the batch, with padding.
    seconds:       wall-clock time since the start of training, without validation.
    cpu_seconds:   the same in CPU time per thread, to which other work on the machine does not
                   contribute; see `Clock.cpu_seconds`.
    """

    step: int
    epoch: int
    loss: float
    learning_rate: float
    tokens: int
    padded_tokens: int
    seconds: float
    cpu_seconds: float


@dataclass(frozen=True)
class Validation:
    """The metrics on the validation documents after a step."""

    step: int
    epoch: int
    metrics: Metrics

    @property
    def selection_score(self) -> float:
        """The criterion of model selection (BERT4SO, appendix C): tau + PMR, as fractions."""
        return self.metrics.tau + self.metrics.pmr


@dataclass(frozen=True)
class History:
    """All steps and validations of a run."""

    steps: list[Step] = field(default_factory=list)
    validations: list[Validation] = field(default_factory=list)

    @property
    def best(self) -> Validation:
        """The validation with the highest selection score; the first one among equals."""
        return max(self.validations, key=lambda validation: validation.selection_score)

    def patience_exhausted(self, patience: int) -> bool:
        """Whether the last `patience` validations did not improve on the best; False for 0."""
        if not self.validations:
            return False
        since = len(self.validations) - 1 - self.validations.index(self.best)
        return 0 < patience <= since

    @property
    def tokens_per_second(self) -> float:
        """Training throughput without padding: the median over the steps.

        The median, because other work on the machine slows some of the steps.
        """
        starts = [0.0, *(step.seconds for step in self.steps)]
        rates = (s.tokens / (s.seconds - b) for s, b in zip(self.steps, starts, strict=False))
        return median(rates)

    @property
    def padding(self) -> float:
        """The fraction of padding in all batches."""
        return 1 - sum(s.tokens for s in self.steps) / sum(s.padded_tokens for s in self.steps)
