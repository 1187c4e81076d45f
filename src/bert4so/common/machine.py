"""Facts about this machine, recorded with every measurement."""

import os
import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from math import ceil
from pathlib import Path

PACKAGES = ("bert4so", "torch", "transformers", "onnxruntime")
VARIABLE_PREFIXES = ("OMP_", "MKL_")
"""Prefixes of environment variables that affect speed."""


def machine() -> dict[str, str | int]:
    """The processor, number of cores, package versions and environment variables."""
    return {
        "processor": processor(),
        "cores": os.cpu_count() or 1,
        "python": platform.python_version(),
        **{name: installed for name in PACKAGES if (installed := _version(name))},
        **{
            name: os.environ[name]
            for name in sorted(os.environ)
            if name.startswith(VARIABLE_PREFIXES)
        },
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def cores(root: Path = Path("/")) -> int:
    """Number of cores available to this process, given its CPU affinity and its cgroups' quotas.

    root: the folder that contains proc and sys.
    """
    try:
        allowed = len(os.sched_getaffinity(0))
    except AttributeError:  # not available on every platform
        allowed = os.cpu_count() or 1
    return min([allowed, *map(ceil, _cpu_quotas(root))])


def _cpu_quotas(root: Path) -> Iterator[float]:
    """The CPU quotas of this process's cgroups and of all parent cgroups, in cores."""
    # Each line is `number:controllers:path`; in cgroups v2, controllers are empty.
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        mounts = root / "sys/fs/cgroup"
        mount = mounts / controllers if controllers else mounts
        # In a container the path can be the host's path, while only its root is mounted.
        for folder in (mount / path.strip("/"), *(mount / path.strip("/")).parents):
            yield from _quota_v1(folder) if controllers else _quota_v2(folder)
            if folder == mount:
                break


def _quota_v2(folder: Path) -> Iterator[float]:
    """Read `cpu.max`: the quota ("max" for none) and the period, in microseconds."""
    for line in _lines(folder / "cpu.max"):
        quota, period = line.split()
        if quota != "max":
            yield int(quota) / int(period)


def _quota_v1(folder: Path) -> Iterator[float]:
    """Read the files of the quota (-1 for none) and of the period, in microseconds."""
    quotas, periods = _lines(folder / "cpu.cfs_quota_us"), _lines(folder / "cpu.cfs_period_us")
    for quota, period in zip(quotas, periods, strict=False):
        if int(quota) > 0:
            yield int(quota) / int(period)


def _lines(path: Path) -> list[str]:
    """The lines of a system file; empty if it does not exist or cannot be read."""
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def processor() -> str:
    """The name of the processor, as reported by the operating system."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
