"""The interface of a system's module."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from bert4so.config.schema import Settings, Training, Values
from bert4so.document import Document
from bert4so.modeling.base import Input, OrderingModel
from bert4so.modeling.batch import Batch


class System(Protocol):
    """A module of `bert4so.systems`.

    Config:     the model's settings; defaults are the paper's values.
    TRAINING:   how the paper trains it.
    CPU_PRESET: values of both, by table, that differ at the scale "desk".

    A module may also have

    BY_CORPUS:   values that its paper sets per corpus: by corpus name, then by table.
    FREE:        model settings that only training reads: a run that starts from another one may
                 change them.
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
        """The input of a new model; a vocabulary, if it has one, is built from the documents."""

    def load_input(self, folder: Path) -> Input[Batch]:
        """The input of a saved model."""

    def build(self, config: Any, input: Any) -> OrderingModel[Any]:
        """Connect the parts; their weights are random."""

    def initialize(self, model: OrderingModel[Any], config: Any) -> None:
        """Load the weights that training starts from, such as those of a pretrained encoder."""
