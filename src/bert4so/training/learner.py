"""A step of learning, on one process or many: what accelerate needs to be told, and no more.

accelerate brings devices, precision, gradient accumulation and the averaging of gradients over
processes. Its data loaders and schedulers are not used: they even out the last batches by repeating
documents, and step once a process. Here every process is given the whole batch and takes its share.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from torch import Tensor, nn
from torch.optim import Adadelta, Adagrad, Adam, AdamW, Optimizer

from bert4so.config.schema import Training
from bert4so.document import Puzzle
from bert4so.errors import UserError
from bert4so.modeling.base import OrderingModel
from bert4so.modeling.encoder import attend_by_length

OPTIMIZERS: dict[str, Callable[..., Optimizer]] = {
    # Fused: one pass over memory instead of several.
    "adamw": partial(AdamW, fused=True),
    "adam": partial(Adam, fused=True),
    "adagrad": Adagrad,
    "adadelta": Adadelta,
}


@dataclass(frozen=True)
class StepResult:
    """What a step was.

    loss:          the mean over documents.
    learning_rate: that of the sentence encoder.
    tokens, cells: those of the batch, without and with its padding.
    """

    loss: float
    learning_rate: float
    tokens: int
    cells: int


class Learner:
    """A model and its optimizer."""

    def __init__(
        self, accelerator: Accelerator, model: OrderingModel[Any], training: Training
    ) -> None:
        self.accelerator = accelerator
        self.training = training
        self.input = model.input
        if training.precision == "bf16" and accelerator.device.type == "cpu":
            attend_by_length(model)
        self.model, self.optimizer = accelerator.prepare(model, make_optimizer(model, training))

    def step(self, puzzles: Sequence[Puzzle], rate: float = 1.0) -> StepResult:
        """Learn from a batch, at so much of the highest rate of each part.

        Every document weighs the same, whichever share it is in.
        """
        self.model.train()
        for group in self.optimizer.param_groups:
            group["lr"] = group["highest"] * rate
        totals = torch.zeros(3, dtype=torch.float64, device=self.accelerator.device)
        for share, weight in self._own_shares(puzzles):
            batch = self.input(share).to(self.accelerator.device)
            with self.accelerator.accumulate(self.model):
                loss = self.model(batch) * weight
                self.accelerator.backward(loss)
                if self.accelerator.sync_gradients:
                    self.accelerator.clip_grad_norm_(self.model.parameters(), self.training.clip)
                self.optimizer.step()
                self.optimizer.zero_grad()
            counts = [batch.tokens, batch.padded_tokens] if weight else [0, 0]
            totals += torch.tensor([loss.item() / self._parts, *counts]).to(totals)
        mean, tokens, cells = self.accelerator.reduce(totals, "sum").tolist()
        if not torch.tensor(mean).isfinite():
            raise UserError(f"the loss is {mean}: training has failed; try a lower learning_rate")
        return StepResult(
            mean, float(self.optimizer.param_groups[0]["lr"]), int(tokens), int(cells)
        )

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Tensors and plain values from which `restore` makes the same learner."""
        weights = self.accelerator.unwrap_model(self.model).state_dict()
        tensors = {f"model.{name}": tensor for name, tensor in weights.items()}
        memory = self.optimizer.state_dict()
        for weight, kept in memory["state"].items():
            tensors |= {f"optimizer.{weight}.{name}": tensor for name, tensor in kept.items()}
        states = gather_object([random_state(self.accelerator.device)])
        tensors |= {
            f"random.{process}.{k}": state
            for process, own in enumerate(states)
            for k, state in enumerate(own)
        }
        # A copy of each: safetensors refuses tensors that share memory.
        tensors = {name: tensor.detach().cpu().clone() for name, tensor in tensors.items()}
        return tensors, {
            "groups": [
                {key: value for key, value in group.items() if key != "params"}
                for group in memory["param_groups"]
            ],
            "processes": len(states),
        }

    def restore(self, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        """Return to what `state` gave."""
        if facts["processes"] != self.accelerator.num_processes:
            raise UserError(
                f"the run was started with {facts['processes']} processes: "
                f"cannot resume with {self.accelerator.num_processes}"
            )
        try:
            self._load(tensors, facts)
        except (LookupError, TypeError, ValueError, RuntimeError) as error:
            first_line = str(error).partition("\n")[0]
            raise UserError(
                f"the snapshot does not fit this version of the model: {first_line}"
            ) from None

    def _load(self, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        model = self.accelerator.unwrap_model(self.model)
        model.load_state_dict(_under("model", tensors))
        memory = self.optimizer.state_dict()
        kept: dict[int, dict[str, Tensor]] = {}
        for path, tensor in _under("optimizer", tensors).items():
            weight, name = path.split(".", 1)
            kept.setdefault(int(weight), {})[name] = tensor
        groups = [
            own | known for own, known in zip(memory["param_groups"], facts["groups"], strict=True)
        ]
        self.optimizer.load_state_dict({"state": kept, "param_groups": groups})
        own_states = _under(f"random.{self.accelerator.process_index}", tensors)
        set_random_state(self.accelerator.device, [own_states[k] for k in sorted(own_states)])

    @property
    def _parts(self) -> int:
        processes: int = self.accelerator.num_processes
        return processes * self.training.accumulate

    def _own_shares(self, puzzles: Sequence[Puzzle]) -> list[tuple[list[Puzzle], float]]:
        """This process's shares of a batch, and the weight of each in the mean over all shares.

        The gradients of all shares are averaged, so that a share of k of n documents weighs
        k * shares / n. Where there are fewer documents than shares, one stands in at no weight.
        """
        shares = [list(puzzles[part :: self._parts]) for part in range(self._parts)]
        first = self.accelerator.process_index * self.training.accumulate
        own = shares[first : first + self.training.accumulate]
        return [(share or [puzzles[0]], len(share) * self._parts / len(puzzles)) for share in own]


def random_state(device: torch.device) -> list[Tensor]:
    """The states of the generators: the CPU's, and that of the device where it is another."""
    own = [] if device.type == "cpu" else [torch.get_device_module(device).get_rng_state(device)]
    return [torch.get_rng_state(), *own]


def set_random_state(device: torch.device, states: Sequence[Tensor]) -> None:
    """Go on with random numbers from such states."""
    torch.set_rng_state(states[0])
    for state in states[1:]:
        torch.get_device_module(device).set_rng_state(state, device)


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose names begin so, by the rest of their names."""
    start = f"{prefix}."
    return {n.removeprefix(start): tensor for n, tensor in tensors.items() if n.startswith(start)}


def make_optimizer(model: OrderingModel[Any], training: Training) -> Optimizer:
    """The optimizer that a system is trained by."""
    chosen = training.optimizer
    numbers: dict[str, Any] = {
        "eps": chosen.eps,
        "rho": chosen.rho,
        "initial_accumulator_value": chosen.accumulator,
    }
    if chosen.beta2 is not None:
        numbers["betas"] = (0.9, chosen.beta2)
    given = {name: number for name, number in numbers.items() if number is not None}
    make = OPTIMIZERS[chosen.name]
    # A system's own numbers are for its own optimizer; another may have no use for them.
    usable = {name: given[name] for name in given if name in signature(make).parameters}
    return make(parameter_groups(model, training), **usable)


def parameter_groups(model: OrderingModel[Any], training: Training) -> list[dict[str, Any]]:
    """Each part at its own rate.

    Vectors (biases, normalization) are not decayed, nor embeddings: those of words that are not
    in a batch would shrink with every step.
    """
    words = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
    groups = []
    for part, rate in training.learning_rate.model_dump().items():
        weights = [w for w in model.get_submodule(part).parameters() if w.requires_grad]
        matrices = [w for w in weights if w.ndim > 1 and id(w) not in words]
        kept = [w for w in weights if w.ndim <= 1 or id(w) in words]
        for decay, chosen in ((training.optimizer.weight_decay, matrices), (0.0, kept)):
            if chosen:
                own = {"params": chosen, "lr": rate, "highest": rate, "weight_decay": decay}
                groups.append(own)
    return groups
