"""TOML on disk, frozen and strictly checked settings in memory; errors written for a person."""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, ValidationError
from pydantic_core import ErrorDetails

from bert4so.errors import MAX_QUOTED_CHARACTERS, UserError, quote

Values = dict[str, Any]


class Settings(BaseModel):
    """Base of every table of a configuration: frozen, no unknown key, no silent conversion."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, ser_json_inf_nan="strings")


class LearningRates(Settings):
    """The highest learning rate of each part of a model."""

    sentence_encoder: float = Field(gt=0)
    document_encoder: float = Field(gt=0)
    decoder: float = Field(gt=0)


class Optimizer(Settings):
    """An optimizer of PyTorch; numbers that are not given are its own defaults there.

    weight_decay: on matrices only; decoupled with AdamW, else added to the gradient (L2).
    accumulator:  what Adagrad's sums of squares start from.
    """

    name: Literal["adamw", "adam", "adagrad", "adadelta"]
    weight_decay: float = Field(ge=0)
    beta2: float | None = Field(default=None, gt=0, lt=1)
    rho: float | None = Field(default=None, gt=0, lt=1)
    eps: float | None = Field(default=None, gt=0)
    accumulator: float | None = Field(default=None, gt=0)


class Training(Settings):
    """How a system is trained. It has no defaults: each system's file states its own numbers.

    epochs:       how often every document is seen at most, each time freshly shuffled.
    patience:     stop after so many validations without a better one; 0: go on to the end.
    batch:        documents a step, over all processes.
    accumulate:   parts in which each process takes its share of a batch, to save memory.
    learning_rate: the highest of each part.
    schedule:     "linear": up over the warm-up, then down to 0; "epochs": times `decay` each epoch.
    warmup:       the share of all steps that is warm-up.
    decay:        what an epoch's learning rate is of that of the epoch before.
    clip:         the greatest norm of the gradient; inf: any.
    precision:    of the arithmetic; weights are always kept in float32.
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
    """The configuration of a run: which system learns what, with which numbers.

    corpus:  is learned from, chosen by and tested on.
    start:   a folder that `bert4so train` or `export` wrote, or "bundled", to begin with what that
             model has learned; [model] must be as it was there, but for keys that only training
             reads. "": as the system itself begins.
    join:    more corpora, to be learned from as well.
    hold_out: corpora that are not: what stands in the validation and test sets of these, as in
             those of the joined, is left out of training.
    minutes: train for so long, however many epochs that is, and without patience (CPU time by
             thread, on a GPU time by the clock; without validation); the learning rate falls in
             that time as it would over `train.epochs`. 0: for the epochs.
    validations: validate so often, after equal shares of the run; 0: after every epoch.
    train_documents: documents to train on, of each corpus of the run at most this many, the
             joined ones included; the same documents for every system and seed. 0: all.
    valid_documents, test_documents: at most so many are chosen by and tested on, the same for
             every run; 0: all.
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
    """Settings made of values; `where` says, in an error, which file or table they came from."""
    try:
        return cls.model_validate(values)
    except ValidationError as error:
        raise UserError(_sentence(cls, error.errors()[0], where)) from None


def nearest(name: str, names: Sequence[str]) -> str:
    """A hint: the one of `names` that was probably meant, or all of them."""
    near = get_close_matches(name, names, n=1)
    return f'did you mean "{near[0]}"?' if near else f"known: {', '.join(names)}"


def _sentence(cls: type[Settings], error: ErrorDetails, where: str) -> str:
    *tables, key = [str(part) for part in error["loc"]]
    where = f"{where} [{'.'.join(tables)}]" if tables else where
    if error["type"] == "extra_forbidden":
        known = list(_table(cls, tables).model_fields)
        return f'{where}: unknown key "{key[:MAX_QUOTED_CHARACTERS]}" ({nearest(key, known)})'
    if error["type"] == "missing":
        return f'{where}: no "{key}": it must be given'
    wanted = error["msg"][0].lower() + error["msg"][1:]
    return f"{where}: {key} = {quote(error['input'])}: {wanted}{_meant(error)}"


def _table(cls: type[Settings], tables: Sequence[str]) -> type[Settings]:
    for table in tables:
        inner = cls.model_fields[table].annotation
        assert isinstance(inner, type), "a table of settings holds tables of settings"
        cls = inner
    return cls


def _meant(error: ErrorDetails) -> str:
    """Which of the words that a key may have was probably meant."""
    if error["type"] != "literal_error":
        return ""
    words = re.findall(r"'([^']+)'", error["ctx"]["expected"])
    near = get_close_matches(str(error["input"]), words, n=1)
    return f' (did you mean "{near[0]}"?)' if near else ""
