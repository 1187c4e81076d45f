"""The direction of imports between packages, and which packages are free of PyTorch."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "src" / "bert4so"
PAGE = Path(__file__).parents[1] / "ARCHITECTURE.md"
PACKAGES = [  # each imports only from those above it
    "errors",
    "document",
    "common",
    "io",
    "text",
    "data",
    "ranking",
    "inference",
    "evaluation",
    # Packages below this line may import torch.
    "config",
    "modeling",
    "systems",
    "export",
    "training",
    "experiments",
    "cli",
    "__main__",
]
TORCH_FREE = PACKAGES[: PACKAGES.index("config")]
HEAVY = {"torch", "transformers", "accelerate", "pydantic", "matplotlib", "scipy", "safetensors"}
EVALUATION_MAY_IMPORT = {"scipy", "matplotlib"}
TABLES = [  # what makes tables of finished experiments; `experiments` has no other without torch
    "experiments.corpus_statistics",
    "experiments.eta",
    "experiments.finished_cell",
    "experiments.plan_file",
    "experiments.report",
    "experiments.results",
    "experiments.store",
]
LATE_IMPORTS = {("inference.orderer", "bert4so.training.checkpoint")}
"""`Orderer.from_pretrained` imports this when a folder holds a PyTorch model."""


def modules() -> list[Path]:
    return [path for path in sorted(ROOT.rglob("*.py")) if path != ROOT / "__init__.py"]


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imported(path: Path) -> list[str]:
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports must be absolute"
            inside = "" if node.module is None else node.module
            names += [f"{inside}.{name.name}" for name in node.names]
        elif isinstance(node, ast.Import):
            names += [name.name for name in node.names]
    return names


def package(module: str) -> str:
    return module.removeprefix("bert4so.").split(".")[0]


def test_every_package_has_a_place():
    assert {package(dotted(path)) for path in modules()} == set(PACKAGES)


def test_the_page_lists_the_packages_in_this_order():
    section = PAGE.read_text(encoding="utf-8").split("## Packages\n")[1].split("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == PACKAGES


def test_the_page_names_modules_that_exist():
    names = re.findall(r"`((?:\w+/)*\w+\.py)`", PAGE.read_text(encoding="utf-8"))
    places = [ROOT, ROOT / "training", ROOT.parents[1]]  # the section on training names its own
    missing = [name for name in names if not any((place / name).exists() for place in places)]
    assert set(missing) <= {"utils.py"}  # "there is no `utils.py`"


@pytest.mark.parametrize("path", modules(), ids=dotted)
def test_imports_point_up_the_list(path):
    here = package(dotted(path))
    for name in imported(path):
        late = (dotted(path), name.rpartition(".")[0]) in LATE_IMPORTS
        if name.startswith("bert4so.") and not late:
            assert PACKAGES.index(package(name)) <= PACKAGES.index(here), f"imports {name}"


@pytest.mark.parametrize("name", TORCH_FREE)
def test_torch_free_packages(name):
    allowed = EVALUATION_MAY_IMPORT if name == "evaluation" else set()
    paths = [path for path in modules() if package(dotted(path)) == name]
    roots = {module.split(".")[0] for path in paths for module in imported(path)}
    assert not roots & HEAVY - allowed


def is_of_tables(module: str) -> bool:
    return any(f"{module}.".startswith(f"{name}.") for name in TABLES)


@pytest.mark.parametrize("path", [p for p in modules() if is_of_tables(dotted(p))], ids=dotted)
def test_tables_of_experiments_are_torch_free(path):
    for name in imported(path):
        if name.startswith("bert4so."):
            inside = name.removeprefix("bert4so.")
            assert package(name) in TORCH_FREE or is_of_tables(inside), f"imports {name}"
        else:
            assert name.split(".")[0] not in HEAVY - EVALUATION_MAY_IMPORT


def test_every_module_of_the_tables_is_there():
    names = {dotted(path) for path in modules()}
    assert [name for name in TABLES if name not in names] == []


def test_importing_bert4so_loads_nothing_heavy():
    code = f"import bert4so, sys; print({HEAVY!r} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
