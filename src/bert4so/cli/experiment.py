"""`bert4so experiment`."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bert4so.cli.options import need_report_extra, need_train_extra
from bert4so.common.progress import say
from bert4so.errors import Stopped, UserError

if TYPE_CHECKING:
    from bert4so.experiments.plan import Cell
    from bert4so.experiments.plan_file import Plan
    from bert4so.experiments.store import CellStore

RESULTS, RUNS = Path("results"), Path("runs")

app = typer.Typer(
    name="experiment",
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Run the paper's experiments, and make its tables.",
)


Config = Annotated[
    Path,
    typer.Argument(
        metavar="CONFIG.toml",
        help="An experiment, as configs/experiments/sample.toml.",
        show_default=False,
    ),
]
Results = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Folder of finished cells, a JSON file each.",
        show_default="results/CONFIG",
    ),
]


@app.command()
def run(
    config: Config,
    shard: Annotated[
        str, typer.Option(metavar="K/N", help="Only the k-th of n parts: one a machine.")
    ] = "1/1",
    out: Results = None,
    work: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Where runs under way are kept.", show_default="runs/CONFIG"
        ),
    ] = None,
) -> None:
    """Run all cells of an experiment that are not there yet.

    A cell is a system on a corpus with a seed; when it is finished, it is a JSON file. What was
    stopped goes on where it was when the same command is given again.

    bert4so experiment run configs/experiments/sample.toml
    """
    need_train_extra()
    from bert4so.experiments.corpus_statistics import write_statistics
    from bert4so.experiments.plan import all_cells, make_plan, read_experiment
    from bert4so.experiments.store import CellStore

    results = out or RESULTS / config.stem
    experiment = read_experiment(config)
    store = CellStore(results, make_plan(experiment))
    part, parts = _shard(shard)
    cells = all_cells(experiment)[part - 1 :: parts]
    missing = [cell for cell in cells if not store.is_finished(cell.name)]
    _write_plan(config, store.plan, results)
    if part == 1:  # parts that run at once would write the same file at the same moment
        write_statistics(store.plan, results)
    failed = _run_cells(missing, [cell.name for cell in cells], store, work or RUNS / config.stem)
    if failed:
        raise UserError(f"{len(failed)} of {len(cells)} cells failed: {', '.join(failed)}")
    sys.stdout.write(f"{results}: all {len(cells)} cells are there\n")


@app.command()
def plan(config: Config, out: Results = None) -> None:
    """Write plan.json, which `table` reads: the cells and all their settings.

    `run` writes it, too. This trains nothing: it is for results of versions that wrote none.

    bert4so experiment plan configs/experiments/sample.toml
    """
    need_train_extra()
    from bert4so.experiments.plan import make_plan, read_experiment

    results = out or RESULTS / config.stem
    made = make_plan(read_experiment(config))
    sys.stdout.write(f"{_write_plan(config, made, results)}: {len(made.cells)} cells\n")


@app.command()
def table(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="A folder of results/, or its path.", show_default=False
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="PAGE.md",
            help="The page; figures go to a folder beside it.",
            show_default="docs/NAME.md",
        ),
    ] = None,
) -> None:
    """Make the tables and figures of an experiment, of as many of its cells as there are.

    Each table is in the page as Markdown, and beside it in LaTeX.

    bert4so experiment table sample
    """
    need_report_extra()
    from bert4so.experiments.report.page import write_page

    folder = Path(name) if Path(name).is_dir() else RESULTS / name
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder")
    page = out or Path("docs") / f"{folder.name}.md"
    if page.suffix != ".md":
        raise UserError(f"--out {page}: wanted a page in .md")
    write_page(folder, page)
    sys.stdout.write(f"{page}\n")


def _write_plan(config: Path, plan: "Plan", results: Path) -> Path:
    """Write the plan, and a copy of the file that it was made of."""
    from bert4so.experiments.plan_file import write_plan

    results.mkdir(parents=True, exist_ok=True)
    copy = results / "experiment.toml"
    if config.resolve() != copy.resolve():
        copy.write_bytes(config.read_bytes())
    return write_plan(plan, results)


def _run_cells(
    missing: Sequence["Cell"], part: Sequence[str], store: "CellStore", work: Path
) -> list[str]:
    """Run the missing cells of a part; return the names of those that failed."""
    from bert4so.experiments.eta import remaining
    from bert4so.experiments.run_cell import run_cell

    failed = []
    for cell in missing:
        say(remaining(store, part, cell.name))
        try:
            run_cell(cell, store, work)
        except Stopped:
            raise Stopped(f"stopped; {store.folder} goes on with the same command") from None
        except UserError as error:  # of this cell: the others may do
            say(f"{cell.name} failed: {error}")
            failed.append(cell.name)
    return failed


def _shard(text: str) -> tuple[int, int]:
    """The part, from 1, and how many there are."""
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    part, parts = map(int, found.groups()) if found else (0, 0)
    if not 1 <= part <= parts:
        raise UserError(f"--shard {text}: wanted K/N, as 1/4: the first of four parts")
    return part, parts
