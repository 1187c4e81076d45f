"""How many cores a process may use."""

import os
import subprocess
import sys

import pytest

from bert4so.common.machine import cores

MICROSECONDS = 100_000


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A system of 16 cores, whose process is in the cgroups that a test writes."""
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


def test_without_cgroups_the_affinity_counts(root):
    assert cores(root) == 16


def test_the_affinity_of_this_process_is_read():
    one = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); "
    code = one + "from bert4so.common.machine import cores; print(cores())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"


@pytest.mark.parametrize(
    "quota, expected",
    [
        ("max 100000", 16),
        ("400000 100000", 4),
        ("50000 25000", 2),
        ("150000 100000", 2),  # a part of a core counts as one, so that none of it is lost
        ("1000 100000", 1),
        ("6400000 100000", 16),
    ],
)
def test_the_quota_of_version_2(root, quota, expected):
    in_cgroup(root, "0::/")
    write(root / "sys/fs/cgroup/cpu.max", quota)
    assert cores(root) == expected


def test_the_lowest_quota_around_a_cgroup_counts(root):
    in_cgroup(root, "0::/slice/service/task")
    top = root / "sys/fs/cgroup"
    write(top / "slice/cpu.max", f"{3 * MICROSECONDS} {MICROSECONDS}")
    write(top / "slice/service/cpu.max", f"{5 * MICROSECONDS} {MICROSECONDS}")
    write(top / "slice/service/task/cpu.max", f"max {MICROSECONDS}")
    write(top / "other/cpu.max", f"{MICROSECONDS} {MICROSECONDS}")
    assert cores(root) == 3


@pytest.mark.parametrize("controllers", ["cpu", "cpu,cpuacct"])
def test_the_quota_of_version_1(root, controllers):
    in_cgroup(root, "5:memory:/job", f"4:{controllers}:/job", "3:cpuset:/job", "0::/")
    quota_v1(root / "sys/fs/cgroup" / controllers, -1)
    quota_v1(root / "sys/fs/cgroup" / controllers / "job", 2 * MICROSECONDS)
    quota_v1(root / "sys/fs/cgroup/cpuset/job", MICROSECONDS)  # not the controller of quotas
    assert cores(root) == 2


def test_a_container_sees_its_quota_at_the_root(root):
    in_cgroup(root, "4:cpu:/docker/0123abcd")
    quota_v1(root / "sys/fs/cgroup/cpu", 2 * MICROSECONDS)
    assert cores(root) == 2
