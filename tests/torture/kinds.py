"""All kinds of trials."""

from torture import (
    flip_answers,
    flip_corpora,
    flip_models,
    flip_training,
    full_disk,
    kill_order,
    kill_train,
)

MODULES = (
    kill_order,
    kill_train,
    full_disk,
    flip_answers,
    flip_corpora,
    flip_training,
    flip_models,
)
KINDS = {module.KIND.name: module.KIND for module in MODULES}
