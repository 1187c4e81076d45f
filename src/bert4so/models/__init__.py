"""The systems, in the order of the paper's table. To add one: write its file, add its line."""

from bert4so.models import bert4so
from bert4so.models.system import System

MODELS: dict[str, System] = {
    "bert4so": bert4so,
}
