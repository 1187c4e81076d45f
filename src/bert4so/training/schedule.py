"""How the learning rate rises and falls, as a share of its highest."""

from collections.abc import Callable


def linear(steps: int, warmup: float) -> Callable[[int], float]:
    """Linear up over the first `warmup` of all steps, then linear down to 0 (BERT4SO, appendix C).

    Gives a function of how many steps were taken before this one.
    """
    rising = round(warmup * steps)

    def share(taken: int) -> float:
        if taken < rising:
            return (taken + 1) / rising
        return (steps - taken) / max(steps - rising, 1)

    return share


def by_epoch(steps_an_epoch: int, decay: float) -> Callable[[int], float]:
    """Times `decay` after every epoch."""
    return lambda taken: float(decay ** (taken // steps_an_epoch))


def by_time(epochs: int, decay: float) -> Callable[[float], float]:
    """As `by_epoch`, the share of a budget that is spent standing for that of the epochs."""
    return lambda spent: float(decay ** int(min(spent, 1.0) * epochs))


def linear_in_time(warmup: float) -> Callable[[float], float]:
    """As `linear`, over the share of a budget that is spent, 0 to 1."""
    fine = 1_000_000
    share = linear(fine, warmup)
    return lambda spent: share(min(int(spent * fine), fine))
