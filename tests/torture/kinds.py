"""All kinds of trials."""

from torture import kill_order, kill_train

KINDS = {module.KIND.name: module.KIND for module in (kill_order, kill_train)}
