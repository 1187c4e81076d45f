"""The settings of a run: frozen, strictly validated, with readable errors."""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, ValidationError
from pydantic_core import ErrorDetails

from bert4so.errors import MAX_QUOTED_CHARACTERS, UserError, quote

Values = dict[str, Any]


class Settings(BaseModel):
    """Base class of all tables: frozen; unknown keys and values of the wrong type are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, ser_json_inf_nan="strings")


class LearningRates(Settings):
    """The maximum learning rate of each part of the model; see `schedule`."""

    sentence_encoder: float = Field(gt=0)
    document_encoder: float = Field(gt=0)
    decoder: float = Field(gt=0)


class Optimizer(Settings):
    """A PyTorch optimizer; options that are not set have PyTorch's defaults.

    weight_decay: applies to matrices only, without embeddings; decoupled for AdamW, otherwise
                  added to the gradient (L2).
    beta2:        decay of the second moment, for Adam and AdamW.
    rho:          decay of the squared gradients, for Adadelta.
    eps:          term added to the denominator for numerical stability.
    accumulator:  initial value of Adagrad's sums of squared gradients.
    """

    name: Literal["adamw", "adam", "adagrad", "adadelta"]
    weight_decay: float = Field(ge=0)
    beta2: float | None = Field(default=None, gt=0, lt=1)
    rho: float | None = Field(default=None, gt=0, lt=1)
    eps: float | None = Field(default=None, gt=0)
    accumulator: float | None = Field(default=None, gt=0)


class Training(Settings):
    """How a system is trained. The defaults are in the module of each system.

    epochs:        maximum number of epochs; documents are shuffled anew in every epoch.
    patience:      stop after this many validations without improvement; 0: never.
    batch:         documents per step, over all processes.
    accumulate:    number of parts in which each process computes its share of a batch: more parts
                   need less memory.
    optimizer:     the optimizer and its options.
    learning_rate: the maximum learning rate of each part of the model.
    schedule:      "linear": increase during warm-up, then decrease to 0; "epochs": multiply by
                   `decay` after every epoch.
    warmup:        fraction of all steps to use for warm-up (schedule "linear").
    decay:         factor of the learning rate per epoch (schedule "epochs").
    clip:          maximum norm of the gradient; inf: no limit.
    precision:     of the computation; weights are always stored in float32.
    """

    epochs: int = Field(ge=1)
    patience: int = Field(ge=0)
    batch: int = Field(ge=1)
    accumulate: int = Field(ge=1)
    optimizer: Optimizer
    learning_rate: LearningRates
    schedule: Literal["linear", "epochs"]
    warmup: float = Field(ge=0, le=1)
    decay: float = Field(gt=0, le=1)
    clip: float = Field(gt=0)
    precision: Literal["float32", "bf16"]


class RunConfig(Settings):
    """The configuration of a run: a system, its data and its settings.

    system:   name of the system.
    corpus:   folder or name of the corpus: train on its training split, select the best model on
              its validation split, and test on its test split.
    start:    folder that `bert4so train` or `bert4so export` wrote, or "bundled": fine-tune this
              model. [model] must be the same as in that run, except for keys that only affect
              training. "": train a new model.
    join:     more corpora to train on.
    hold_out: corpora to test on later: training documents that overlap with their validation or
              test splits are left out. Corpora in `join` are always treated this way.
    scale:    "paper": the sizes of the paper; "desk": a model that trains on a CPU.
    seed:     random seed of the training: initial weights, shuffles, batches and dropout.
    minutes:  train for this long instead of for `train.epochs`, without patience. Counts CPU time
              divided by the number of threads (on a GPU: wall-clock time), without validation. The
              learning rate decreases over this time as it would over `train.epochs`. 0: train for
              `train.epochs`.
    validations: number of validations, at equal intervals; 0: validate after every epoch.
    train_documents: maximum number of training documents per corpus, including those in `join`;
              every system and seed gets the same sample. 0: all.
    valid_documents, test_documents: maximum number of documents to validate and to test on; every
              run gets the same sample. 0: all.
    model:    settings of the system.
    train:    settings of the training.
    """

    system: str
    corpus: str
    start: str = ""
    join: list[str] = Field(default_factory=list)
    hold_out: list[str] = Field(default_factory=list)
    scale: Literal["paper", "desk"] = "paper"
    seed: int = 1
    minutes: float = Field(0.0, ge=0)
    validations: int = Field(0, ge=0)
    train_documents: int = Field(0, ge=0)
    valid_documents: int = Field(0, ge=0)
    test_documents: int = Field(0, ge=0)
    model: SerializeAsAny[Settings]
    train: Training


S = TypeVar("S", bound=Settings)


def checked(cls: type[S], values: Values, where: str) -> S:
    """Validate values as settings; `where` names their file or table in errors."""
    try:
        return cls.model_validate(values)
    except ValidationError as error:
        raise UserError(_sentence(cls, error.errors()[0], where)) from None


def nearest(name: str, names: Sequence[str]) -> str:
    """A hint for an unknown name: the most similar of `names`, or all of them."""
    near = get_close_matches(name, names, n=1)
    return f'did you mean "{near[0]}"?' if near else f"known: {', '.join(names)}"


def _sentence(cls: type[Settings], error: ErrorDetails, where: str) -> str:
    *tables, key = [str(part) for part in error["loc"]]
    where = f"{where} [{'.'.join(tables)}]" if tables else where
    if error["type"] == "extra_forbidden":
        known = list(_table(cls, tables).model_fields)
        return f'{where}: unknown key "{key[:MAX_QUOTED_CHARACTERS]}" ({nearest(key, known)})'
    if error["type"] == "missing":
        return f'{where}: missing key "{key}"'
    reason = error["msg"][0].lower() + error["msg"][1:]
    return f"{where}: {key} = {quote(error['input'])}: {reason}{_suggestion(error)}"


def _table(cls: type[Settings], tables: Sequence[str]) -> type[Settings]:
    for table in tables:
        inner = cls.model_fields[table].annotation
        assert isinstance(inner, type), "a table is a subclass of Settings"
        cls = inner
    return cls


def _suggestion(error: ErrorDetails) -> str:
    """The allowed value most similar to a wrong one."""
    if error["type"] != "literal_error":
        return ""
    words = re.findall(r"'([^']+)'", error["ctx"]["expected"])
    near = get_close_matches(str(error["input"]), words, n=1)
    return f' (did you mean "{near[0]}"?)' if near else ""
