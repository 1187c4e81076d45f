"""The wheel, in an environment with nothing else."""

import json
import shutil
import subprocess
import sys
from zipfile import ZipFile

import pytest

from installs import ROOT, install, run


@pytest.fixture(scope="module")
def bare(wheel, tmp_path_factory):
    """Commands of an environment with the wheel and its dependencies, without PyTorch."""
    return install(wheel, tmp_path_factory.mktemp("base") / "env", "constraints.txt")


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="old NumPy has no wheel for it")
def test_the_lowest_versions_of_dependencies_work(wheel, tmp_path):
    commands = install(wheel, tmp_path / "env", "constraints-lowest.txt")
    done = run(commands / "bert4so", "order", input="Then we ate.\nWe cooked.\n", cwd=tmp_path)
    assert done.stdout == "We cooked.\nThen we ate.\n", done.stderr
    for command in ([], ["order"], ["data", "prepare"]):
        done = run(commands / "bert4so", *command, "--help")
        assert (done.returncode, done.stderr) == (0, "")


def test_the_wheel_has_all_files_of_the_package(wheel):
    listed = ["git", "ls-files", "-z", "src"]
    tracked = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True)
    packed = [name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name]
    assert sorted(f"src/{name}" for name in packed) == sorted(tracked.stdout.split("\0")[:-1])


def test_the_wheel_is_small(wheel):
    assert wheel.stat().st_size < 40e6


def test_the_wheel_does_not_install_torch(bare):
    code = "import bert4so, sys; print('torch' in sys.modules)"
    assert run(bare / "python", "-c", code).stdout == "False\n"
    assert run(bare / "python", "-c", "import torch").returncode == 1


def test_order_works_out_of_the_box(bare, tmp_path):
    done = run(bare / "bert4so", "order", input="Then we ate.\nWe cooked.\n", cwd=tmp_path)
    assert done.stdout == "We cooked.\nThen we ate.\n"


def test_the_wheel_is_typed(bare):
    code = "from importlib.resources import files; print((files('bert4so') / 'py.typed').is_file())"
    assert run(bare / "python", "-c", code).stdout == "True\n"


@pytest.mark.parametrize(
    "args",
    [[], ["order"], ["train"], ["evaluate"], ["score"], ["doctor"], ["data"], ["experiment"]],
)
def test_help_needs_no_torch(bare, args):
    done = run(bare / "bert4so", *args, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "bert4so" in done.stdout


def test_score_needs_no_torch(bare, tmp_path):
    (tmp_path / "orders.jsonl").write_text(json.dumps({"id": "a", "order": [1, 0]}))
    done = run(bare / "bert4so", "score", "orders.jsonl", "orders.jsonl", cwd=tmp_path)
    assert done.stdout.endswith("documents  1\n")


def test_data_commands_need_no_torch(bare, tmp_path):
    (tmp_path / "story.txt").write_text("One.\nTwo.\n")
    prepare = ["data", "prepare", "text", "story.txt", "--out", "mine"]
    assert run(bare / "bert4so", *prepare, cwd=tmp_path).returncode == 0
    listed = run(bare / "bert4so", "data", "list", cwd=tmp_path)
    assert (listed.returncode, listed.stderr) == (0, "")
    prepare = ["data", "prepare", "paragraphs", "story.txt", "--out", "split"]
    done = run(bare / "bert4so", *prepare, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.endswith("pip install 'bert4so[data]'\n")
    compared = run(bare / "bert4so", "compare", "a", "b", "c", cwd=tmp_path)
    assert compared.stderr == "bert4so: this command needs scipy: pip install 'bert4so[data]'\n"


def test_doctor_needs_no_torch(bare):
    done = run(bare / "bert4so", "doctor")
    assert done.returncode == 0
    assert "pip install 'bert4so[train]'" in done.stdout


@pytest.mark.parametrize(
    "args", [["train", "x.toml"], ["evaluate", "run", "corpus"], ["order", "x", "--model", "run"]]
)
def test_errors_name_the_missing_extra(bare, tmp_path, args):
    (tmp_path / "x").write_text("a\nb\n")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.toml").touch()
    done = run(bare / "bert4so", *args, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "pip install 'bert4so[train]'" in done.stderr


def test_an_error_about_the_model_needs_no_extra(bare, tmp_path):
    (tmp_path / "x").write_text("a\nb\n")
    done = run(bare / "bert4so", "order", "x", "--model", "typo", cwd=tmp_path)
    assert done.stderr.startswith("bert4so: typo: no model here")


def test_evaluation_needs_no_torch_and_reports_need_an_extra(bare, tmp_path):
    shutil.copytree(ROOT / "src" / "bert4so" / "pretrained", tmp_path / "exported")
    (tmp_path / "test.jsonl").write_text('{"id": "a", "sentences": ["We cooked.", "We ate."]}\n')
    evaluate = [bare / "bert4so", "evaluate", "exported", "."]
    done = run(*evaluate, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("documents  1\n")
    refused = run(*evaluate, "--report", "report.html", cwd=tmp_path)
    needed = "needs matplotlib, scipy: pip install 'bert4so[report]'\n"
    assert (refused.returncode, refused.stderr) == (2, f"bert4so: --report {needed}")
    table = run(bare / "bert4so", "experiment", "table", "desk", cwd=tmp_path)
    assert (table.returncode, table.stderr) == (2, f"bert4so: this command {needed}")
