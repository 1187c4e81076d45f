"""A finished run, for the Python API. Reading its results needs no PyTorch."""

from dataclasses import dataclass
from pathlib import Path

from bert4so.errors import UserError
from bert4so.evaluation.metrics import Metrics
from bert4so.inference.orderer import Orderer
from bert4so.io.model_files import first_line, read_object

METRICS_FILE = "metrics.json"
"""Written last: a run is finished when this file exists."""


@dataclass(frozen=True)
class Run:
    """A finished training run.

    `train` returns one; `Run("runs/sample")` opens one that was trained before.

    Attributes:
        path: Its folder, with the model, its metrics, predictions, curves and model card.

    Raises:
        UserError: The folder does not contain a finished run.
    """

    path: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))
        if not (self.path / METRICS_FILE).is_file():
            raise UserError(f"{self.path}: not a finished run: it has no {METRICS_FILE}")

    @property
    def metrics(self) -> dict[str, Metrics]:
        """The metrics on the validation documents, `"valid"`, and on the test documents, `"test"`.

        They belong to the model that was kept, the one with the best validation. Without test
        documents there is no `"test"`.
        """
        file = self.path / METRICS_FILE
        facts = read_object(file)
        try:
            return {name: Metrics(**facts[name]) for name in ("valid", "test") if name in facts}
        except TypeError as error:
            raise UserError(f"{file}: not the metrics of a run: {first_line(error)}") from None

    def orderer(self, threads: int | None = None) -> Orderer:
        """Load the trained model; see `Orderer.from_pretrained`."""
        return Orderer.from_pretrained(self.path, threads)
