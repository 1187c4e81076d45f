"""What a number was measured on."""

import os
import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from math import ceil
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


def cores(root: Path = Path("/")) -> int:
    """Number of cores that this process may use: its CPU affinity, and the quota of its cgroups.

    root: where /proc and /sys are.
    """
    try:
        allowed = len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        allowed = os.cpu_count() or 1
    return min([allowed, *map(ceil, _cpu_quotas(root))])


def _cpu_quotas(root: Path) -> Iterator[float]:
    """The CPU quotas of this process's cgroups and of all cgroups around them, in cores."""
    # Each line is `number:controllers:path`, without controllers in version 2 of cgroups.
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        mounts = root / "sys/fs/cgroup"
        mount = mounts / controllers if controllers else mounts
        # In a container the path can be that of the host, of which only the root is mounted.
        for folder in (mount / path.strip("/"), *(mount / path.strip("/")).parents):
            yield from _quota_v1(folder) if controllers else _quota_v2(folder)
            if folder == mount:
                break


def _quota_v2(folder: Path) -> Iterator[float]:
    """`cpu.max` holds the quota ("max" for none) and the period, in microseconds."""
    for line in _lines(folder / "cpu.max"):
        quota, period = line.split()
        if quota != "max":
            yield int(quota) / int(period)


def _quota_v1(folder: Path) -> Iterator[float]:
    """The quota (-1 for none) and the period each have a file, in microseconds."""
    quotas, periods = _lines(folder / "cpu.cfs_quota_us"), _lines(folder / "cpu.cfs_period_us")
    for quota, period in zip(quotas, periods, strict=False):
        if int(quota) > 0:
            yield int(quota) / int(period)


def _lines(path: Path) -> list[str]:
    """The lines of a file of the system; none if it does not exist or cannot be read."""
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def processor() -> str:
    """The name of the processor, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
