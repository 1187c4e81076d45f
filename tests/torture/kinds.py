"""All kinds of trials."""

from torture import (
    documents,
    files,
    flip_answers,
    flip_corpora,
    flip_models,
    flip_training,
    full_disk,
    kill_order,
    kill_train,
    models,
    truncate,
)

_KINDS = (
    kill_order.KIND,
    kill_train.KIND,
    full_disk.KIND,
    flip_answers.KIND,
    flip_corpora.KIND,
    flip_training.KIND,
    flip_models.KIND,
    truncate.KIND,
    documents.KIND,
    files.IN_PROCESS,
    files.IN_NEW_PROCESS,
    models.KIND,
)
KINDS = {kind.name: kind for kind in _KINDS}
