"""Number of cores available to a process."""

import os
import subprocess
import sys

import pytest

from bert4so.common.machine import cores

MICROSECONDS = 100_000


@pytest.fixture
def root(tmp_path, monkeypatch):
    """The root of a system with 16 cores; each test writes the cgroups of the process."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(16)))
    return tmp_path


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")


def in_cgroup(root, *lines):
    write(root / "proc/self/cgroup", "\n".join(lines))


def quota_v1(folder, quota):
    write(folder / "cpu.cfs_quota_us", quota)
    write(folder / "cpu.cfs_period_us", MICROSECONDS)


def test_cores_without_cgroups_equal_the_affinity(root):
    assert cores(root) == 16


def test_cores_respect_the_affinity_of_this_process():
    use_one_core = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); "
    code = use_one_core + "from bert4so.common.machine import cores; print(cores())"
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout == "1\n"


@pytest.mark.parametrize(
    "quota, expected",
    [
        ("max 100000", 16),
        ("400000 100000", 4),
        ("50000 25000", 2),
        ("150000 100000", 2),  # rounded up, so that no part of a core stays unused
        ("1000 100000", 1),
        ("6400000 100000", 16),
    ],
)
def test_quota_of_cgroups_v2(root, quota, expected):
    in_cgroup(root, "0::/")
    write(root / "sys/fs/cgroup/cpu.max", quota)
    assert cores(root) == expected


def test_lowest_quota_of_all_parent_cgroups_applies(root):
    in_cgroup(root, "0::/slice/service/task")
    top = root / "sys/fs/cgroup"
    write(top / "slice/cpu.max", f"{3 * MICROSECONDS} {MICROSECONDS}")
    write(top / "slice/service/cpu.max", f"{5 * MICROSECONDS} {MICROSECONDS}")
    write(top / "slice/service/task/cpu.max", f"max {MICROSECONDS}")
    write(top / "other/cpu.max", f"{MICROSECONDS} {MICROSECONDS}")
    assert cores(root) == 3


@pytest.mark.parametrize("controllers", ["cpu", "cpu,cpuacct"])
def test_quota_of_cgroups_v1(root, controllers):
    in_cgroup(root, "5:memory:/job", f"4:{controllers}:/job", "3:cpuset:/job", "0::/")
    quota_v1(root / "sys/fs/cgroup" / controllers, -1)
    quota_v1(root / "sys/fs/cgroup" / controllers / "job", 2 * MICROSECONDS)
    quota_v1(root / "sys/fs/cgroup/cpuset/job", MICROSECONDS)  # only the cpu controller sets quotas
    assert cores(root) == 2


def test_container_reads_its_quota_at_the_cgroup_root(root):
    in_cgroup(root, "4:cpu:/docker/0123abcd")
    quota_v1(root / "sys/fs/cgroup/cpu", 2 * MICROSECONDS)
    assert cores(root) == 2
