"""Documents, orders and weights that are drawn, for bricks that are tested by themselves."""

import torch
from torch import nn

from bert4so.document import Puzzle
from bert4so.modeling.batch import pad_orders
from bert4so.modeling.inputs.words_input import WordsBatch


def batch_of(*orders):
    """Documents of which nothing but the true order is known."""
    mask, order = pad_orders([Puzzle(("?",) * len(order), list(order)) for order in orders])
    return WordsBatch(mask, order, ~mask, mask[..., None].long(), mask.long())


def drawn_order(n):
    return torch.randperm(n).tolist()


def loosened(module: nn.Module, by: float):
    """Weights far from where they start, so that no softmax is all but even."""
    with torch.no_grad():
        for weight in module.parameters():
            weight += by * torch.randn_like(weight)
    return module.eval()
