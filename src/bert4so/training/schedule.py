"""Learning rate schedules, as a fraction of the maximum learning rate."""

from collections.abc import Callable


def linear(steps: int, warmup: float) -> Callable[[int], float]:
    """Linear warm-up over the first `warmup` of all steps, then linear decay to 0.

    BERT4SO, appendix C. Returns a function of the number of steps taken so far.
    """
    rising = round(warmup * steps)

    def fraction(taken: int) -> float:
        if taken < rising:
            return (taken + 1) / rising
        return (steps - taken) / max(steps - rising, 1)

    return fraction


def by_epoch(steps_per_epoch: int, decay: float) -> Callable[[int], float]:
    """Multiply by `decay` after every epoch; a function of the number of steps taken so far."""
    return lambda taken: float(decay ** (taken // steps_per_epoch))


def by_time(epochs: int, decay: float) -> Callable[[float], float]:
    """As `by_epoch`, for a run with a time limit: a function of its progress, from 0 to 1."""
    return lambda progress: float(decay ** int(min(progress, 1.0) * epochs))


def linear_in_time(warmup: float) -> Callable[[float], float]:
    """As `linear`, for a run with a time limit: a function of its progress, from 0 to 1."""
    resolution = 1_000_000
    fraction = linear(resolution, warmup)
    return lambda progress: fraction(min(int(progress * resolution), resolution))
