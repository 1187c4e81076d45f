"""A full disk, or what a process takes for one."""

import resource
from pathlib import Path
from random import Random

SMALLEST_BLOCKS = 2
"""In which the one line of stderr finds space, should it be a file."""

BLOCK_BYTES = 512
"""Of `ulimit -f` in most shells; twice that in others."""

HAS_FULL_DEVICE = Path("/dev/full").exists()


def limit_file_size(size: int) -> None:
    """No file may grow larger: as on a full disk, the write fails."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def file_limit(rng: Random, most: int) -> str:
    """Shell code that does the same, with a random limit of up to `most` bytes."""
    return f"ulimit -f {rng.randint(SMALLEST_BLOCKS, max(SMALLEST_BLOCKS, most // BLOCK_BYTES))};"
