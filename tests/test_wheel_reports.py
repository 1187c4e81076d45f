"""Reports and tables with the wheel and its extra `report`, without PyTorch."""

import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def reporting(tmp_path_factory):
    """Commands of an environment with only `bert4so[report]`."""
    place = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", place, ROOT]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = place.glob("*.whl")
    venv.create(place / "env", with_pip=False)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        place / "env/bin/python",
        "install",
        "-q",
        "--no-compile",
    ]
    requirements = ["-c", ROOT / "constraints.txt", f"{wheel}[report]"]
    subprocess.run([*pip, *requirements], check=True, capture_output=True)
    return place / "env" / "bin"


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, **options)


def test_the_extra_does_not_install_torch(reporting):
    code = "import importlib.util as u, sys; print([n for n in sys.argv[1:] if u.find_spec(n)])"
    done = run(reporting / "python", "-c", code, "torch", "transformers", "accelerate", "scipy")
    assert done.stdout == "['scipy']\n"


def test_the_bundled_model_is_evaluated_with_a_report(reporting, tmp_path):
    shutil.copytree(ROOT / "data" / "sample", tmp_path / "data" / "sample")
    evaluate = ["evaluate", "bundled", "sample", "--report", "report.html"]
    done = run(reporting / "bert4so", *evaluate, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("documents  66\n")
    assert "<svg" in (tmp_path / "report.html").read_text()


def test_experiment_tables_are_made(reporting, tmp_path):
    (tmp_path / "results").symlink_to(ROOT / "results")
    table = ["experiment", "table", "desk", "--out", "docs/results.md"]
    done = run(reporting / "bert4so", *table, cwd=tmp_path)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "docs/results.md\n")
    page = Path("docs") / "results.md"
    assert (tmp_path / page).read_text() == (ROOT / page).read_text()


def test_experiment_run_asks_for_the_train_extra(reporting, tmp_path):
    (tmp_path / "x.toml").touch()
    done = run(reporting / "bert4so", "experiment", "run", "x.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("bert4so: this command needs PyTorch, ")
    assert done.stderr.endswith(": pip install 'bert4so[train]'\n")
