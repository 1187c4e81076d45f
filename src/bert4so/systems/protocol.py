"""What the file of a system holds."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from bert4so.config.schema import Settings, Training, Values
from bert4so.document import Document
from bert4so.modeling.base import Input, OrderingModel
from bert4so.modeling.batch import Batch


class System(Protocol):
    """A module of `bert4so.systems`.

    Config:   the model's settings; their defaults are the paper's numbers.
    TRAINING: how the paper trains it.
    CPU_PRESET:     the few numbers of both, by table, that differ at desk scale.

    A module may also have

    BY_CORPUS:   the numbers that its paper sets by corpus: for the name of a corpus, values by
                 table.
    FREE:        keys of the model's settings that only its training reads: a run that starts from
                 another one may change them.
    STARTS_FROM: another system whose models a run can start from: all their weights are used, and
                 weights that they lack stay as `build` makes them.
    """

    @property
    def Config(self) -> type[Settings]: ...  # noqa: N802 (a class)

    @property
    def TRAINING(self) -> Training: ...  # noqa: N802 (a constant)

    @property
    def CPU_PRESET(self) -> Values: ...  # noqa: N802 (a constant)

    # Each module takes its own Config and Input, which no common type can say.

    def make_input(self, config: Any, documents: Sequence[Document]) -> Input[Batch]:
        """The input of a new model; what it must learn of its language comes from the documents."""

    def load_input(self, folder: Path) -> Input[Batch]:
        """The input of a saved model."""

    def build(self, config: Any, input: Any) -> OrderingModel[Any]:
        """The parts wired together; their weights have learned nothing."""

    def initialize(self, model: OrderingModel[Any], config: Any) -> None:
        """Put in place the weights that training starts from."""
