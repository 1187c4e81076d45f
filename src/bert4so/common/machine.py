"""What a number was measured on."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("bert4so", "torch", "transformers", "onnxruntime")
SETTINGS = ("OMP_", "MKL_")
"""How variables begin that make the same work faster or slower."""


def machine() -> dict[str, str | int]:
    """The processor, its cores, and the versions and settings that matter."""
    return {
        "processor": processor(),
        "cores": os.cpu_count() or 1,
        "python": platform.python_version(),
        **{name: found for name in PACKAGES if (found := _version(name))},
        **{name: os.environ[name] for name in sorted(os.environ) if name.startswith(SETTINGS)},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def cores() -> int:
    """How many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not every system tells
        return os.cpu_count() or 1


def processor() -> str:
    """The name of the processor, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
