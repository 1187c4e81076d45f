"""The wheel, and fresh environments with nothing but the wheel and its dependencies."""

import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent

ENV = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
"""The variables without the one that would import the package from the checkout."""


def build_wheel(folder: Path) -> Path:
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT]
    subprocess.run(build, check=True, capture_output=True, env=ENV)
    (wheel,) = folder.glob("*.whl")
    return wheel


def install(wheel: Path, folder: Path, constraints: str, extra: str = "") -> Path:
    """Install the wheel into a new environment in `folder`; return the folder of its commands."""
    venv.create(folder, with_pip=False)  # the pip of this environment installs into that one
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-compile"]
    wanted = f"{wheel}[{extra}]" if extra else wheel
    subprocess.run(
        [*pip, "-c", ROOT / constraints, wanted], check=True, capture_output=True, env=ENV
    )
    return folder / "bin"


def run(*command, **how) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, env=ENV, **how)
