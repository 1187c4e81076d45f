"""The versions that pyproject.toml accepts are those that are tested."""

import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from installs import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
STATED = [
    *PROJECT["build-system"]["requires"],
    *PROJECT["project"]["dependencies"],
    *(line for extra in PROJECT["project"]["optional-dependencies"].values() for line in extra),
]
REQUIREMENTS = [line for line in map(Requirement, STATED) if line.name != "bert4so"]


def pinned(constraints):
    lines = (ROOT / constraints).read_text().splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(pin.name): Version(str(pin.specifier)[2:]) for pin in pins}


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=str)
def test_the_lower_bound_is_the_lowest_version_tested(requirement):
    (bound,) = [Version(s.version) for s in requirement.specifier if s.operator == ">="]
    assert pinned("constraints-lowest.txt")[canonicalize_name(requirement.name)] == bound


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=str)
def test_the_version_of_development_is_accepted(requirement):
    version = pinned("constraints.txt")[canonicalize_name(requirement.name)]
    assert requirement.specifier.contains(version)
