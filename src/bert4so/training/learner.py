"""One optimizer step, in one process or several, with accelerate.

accelerate handles devices, precision, gradient accumulation and the averaging of gradients over
processes. Its data loaders and schedulers are not used: the loaders repeat documents to fill the
last batches, and the schedulers step once per process. Here every process gets the whole batch and
takes its share.
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
    """The result of a step.

    loss:          mean over the documents.
    learning_rate: of the sentence encoder.
    tokens:        number of tokens of the batch, without padding.
    padded_tokens: number of tokens of the batch, with padding.
    """

    loss: float
    learning_rate: float
    tokens: int
    padded_tokens: int


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
        """Train on a batch, at the fraction `rate` of each part's maximum learning rate.

        Every document has the same weight, whichever share it is in.
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
        mean, tokens, padded = self.accelerator.reduce(totals, "sum").tolist()
        if not torch.tensor(mean).isfinite():
            raise UserError(f"the loss is {mean}: training has failed; try a lower learning_rate")
        return StepResult(
            mean, float(self.optimizer.param_groups[0]["lr"]), int(tokens), int(padded)
        )

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """The state as tensors and plain values; see `restore`."""
        weights = self.accelerator.unwrap_model(self.model).state_dict()
        tensors = {f"model.{name}": tensor for name, tensor in weights.items()}
        optimizer = self.optimizer.state_dict()
        for weight, own in optimizer["state"].items():
            tensors |= {f"optimizer.{weight}.{name}": tensor for name, tensor in own.items()}
        states = gather_object([random_state(self.accelerator.device)])
        tensors |= {
            f"random.{process}.{k}": state
            for process, own in enumerate(states)
            for k, state in enumerate(own)
        }
        # Copied, because safetensors refuses tensors that share memory.
        tensors = {name: tensor.detach().cpu().clone() for name, tensor in tensors.items()}
        return tensors, {
            "groups": [
                {key: value for key, value in group.items() if key != "params"}
                for group in optimizer["param_groups"]
            ],
            "processes": len(states),
        }

    def restore(self, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        """Restore from the result of `state`."""
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
        own_groups = self.optimizer.state_dict()["param_groups"]
        state: dict[int, dict[str, Tensor]] = {}
        for path, tensor in _under("optimizer", tensors).items():
            weight, name = path.split(".", 1)
            state.setdefault(int(weight), {})[name] = tensor
        groups = [own | saved for own, saved in zip(own_groups, facts["groups"], strict=True)]
        self.optimizer.load_state_dict({"state": state, "param_groups": groups})
        own_states = _under(f"random.{self.accelerator.process_index}", tensors)
        set_random_state(self.accelerator.device, [own_states[k] for k in sorted(own_states)])

    @property
    def _parts(self) -> int:
        processes: int = self.accelerator.num_processes
        return processes * self.training.accumulate

    def _own_shares(self, puzzles: Sequence[Puzzle]) -> list[tuple[list[Puzzle], float]]:
        """This process's shares of a batch, each with its weight in the mean over all shares.

        The gradients of all shares are averaged, so a share with k of n documents gets the weight
        k * shares / n. If there are fewer documents than shares, empty shares get the first
        document with weight 0.
        """
        shares = [list(puzzles[part :: self._parts]) for part in range(self._parts)]
        first = self.accelerator.process_index * self.training.accumulate
        own = shares[first : first + self.training.accumulate]
        return [(share or [puzzles[0]], len(share) * self._parts / len(puzzles)) for share in own]


def random_state(device: torch.device) -> list[Tensor]:
    """The states of the random number generators of the CPU and, if it is another, the device."""
    own = [] if device.type == "cpu" else [torch.get_device_module(device).get_rng_state(device)]
    return [torch.get_rng_state(), *own]


def set_random_state(device: torch.device, states: Sequence[Tensor]) -> None:
    """Restore from the result of `random_state`."""
    torch.set_rng_state(states[0])
    for state in states[1:]:
        torch.get_device_module(device).set_rng_state(state, device)


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose names start with the prefix, by the rest of their names."""
    start = f"{prefix}."
    return {n.removeprefix(start): tensor for n, tensor in tensors.items() if n.startswith(start)}


def make_optimizer(model: OrderingModel[Any], training: Training) -> Optimizer:
    """Create the optimizer of a run."""
    chosen = training.optimizer
    numbers: dict[str, Any] = {
        "eps": chosen.eps,
        "rho": chosen.rho,
        "initial_accumulator_value": chosen.accumulator,
    }
    if chosen.beta2 is not None:
        numbers["betas"] = (0.9, chosen.beta2)
    options = {name: number for name, number in numbers.items() if number is not None}
    make = OPTIMIZERS[chosen.name]
    # Defaults of a system are for its default optimizer; another one may lack some options.
    supported = {name: options[name] for name in options if name in signature(make).parameters}
    return make(parameter_groups(model, training), **supported)


def parameter_groups(model: OrderingModel[Any], training: Training) -> list[dict[str, Any]]:
    """The parameters of each part, with its learning rate and weight decay.

    Vectors (biases, normalization) have no weight decay, and neither have embeddings: those of
    words that are not in a batch would shrink with every step.
    """
    words = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
    groups = []
    for part, rate in training.learning_rate.model_dump().items():
        weights = [w for w in model.get_submodule(part).parameters() if w.requires_grad]
        matrices = [w for w in weights if w.ndim > 1 and id(w) not in words]
        others = [w for w in weights if w.ndim <= 1 or id(w) in words]
        for decay, params in ((training.optimizer.weight_decay, matrices), (0.0, others)):
            if params:
                group = {"params": params, "lr": rate, "highest": rate, "weight_decay": decay}
                groups.append(group)
    return groups
