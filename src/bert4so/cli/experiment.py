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
    help="Run the paper's experiments and make its tables.",
)


Config = Annotated[
    Path,
    typer.Argument(
        metavar="CONFIG.toml",
        help="Configuration of an experiment, such as configs/experiments/sample.toml.",
        show_default=False,
    ),
]
Results = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Folder of finished cells, one JSON file per cell.",
        show_default="results/CONFIG",
    ),
]


@app.command()
def run(
    config: Config,
    shard: Annotated[
        str, typer.Option(metavar="K/N", help="Run shard K of N, such as one per machine.")
    ] = "1/1",
    out: Results = None,
    work: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for unfinished runs.", show_default="runs/CONFIG"),
    ] = None,
) -> None:
    """Run the unfinished cells of an experiment.

    A cell is one run: a system on a corpus with a seed. A finished cell is stored as a JSON file.
    After an interruption, the same command resumes where it stopped.

    bert4so experiment run configs/experiments/sample.toml
    """
    need_train_extra()
    from bert4so.experiments.corpus_statistics import write_statistics
    from bert4so.experiments.plan import all_cells, make_plan, read_experiment
    from bert4so.experiments.store import CellStore

    results = out or RESULTS / config.stem
    experiment = read_experiment(config)
    store = CellStore(results, make_plan(experiment))
    number, shards = _parse_shard(shard)
    cells = all_cells(experiment)[number - 1 :: shards]
    missing = [cell for cell in cells if not store.is_finished(cell.name)]
    _write_plan(config, store.plan, results)
    if number == 1:  # shards that start together must not write the same file
        write_statistics(store.plan, results)
    failed = _run_cells(missing, [cell.name for cell in cells], store, work or RUNS / config.stem)
    if failed:
        raise UserError(f"{len(failed)} of {len(cells)} cells failed: {', '.join(failed)}")
    sys.stdout.write(f"{results}: all {len(cells)} cells are finished\n")


@app.command()
def plan(config: Config, out: Results = None) -> None:
    """Write plan.json: the cells and all their settings, which `table` reads.

    `run` writes it too. This command trains nothing; use it for results that have no plan.json.

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
            metavar="NAME", help="Folder under results/, or its path.", show_default=False
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="PAGE.md",
            help="Page to write; figures go to a folder beside it.",
            show_default="docs/NAME.md",
        ),
    ] = None,
) -> None:
    """Make the tables and figures of an experiment from its finished cells.

    The page has each table in Markdown; the folder beside it has each table in LaTeX.

    bert4so experiment table sample
    """
    need_report_extra()
    from bert4so.experiments.report.page import write_page

    folder = Path(name) if Path(name).is_dir() else RESULTS / name
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder: pass the --out of `bert4so experiment run`")
    page = out or Path("docs") / f"{folder.name}.md"
    if page.suffix != ".md":
        raise UserError(f"--out {page}: the name must end in .md")
    write_page(folder, page)
    sys.stdout.write(f"{page}\n")


def _write_plan(config: Path, plan: "Plan", results: Path) -> Path:
    """Write the plan, and a copy of the configuration it was made from."""
    from bert4so.experiments.plan_file import write_plan

    results.mkdir(parents=True, exist_ok=True)
    copy = results / "experiment.toml"
    if config.resolve() != copy.resolve():
        copy.write_bytes(config.read_bytes())
    return write_plan(plan, results)


def _run_cells(
    missing: Sequence["Cell"], shard: Sequence[str], store: "CellStore", work: Path
) -> list[str]:
    """Run the missing cells of a shard; return the names of those that failed."""
    from bert4so.experiments.eta import remaining
    from bert4so.experiments.run_cell import run_cell

    failed = []
    for cell in missing:
        say(remaining(store, shard, cell.name))
        try:
            run_cell(cell, store, work)
        except Stopped:
            raise Stopped(f"stopped; run the same command again to resume {store.folder}") from None
        except UserError as error:  # the other cells may still work
            say(f"{cell.name} failed: {error}")
            failed.append(cell.name)
    return failed


def _parse_shard(text: str) -> tuple[int, int]:
    """The number of the shard, from 1, and the number of shards."""
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    number, shards = map(int, match.groups()) if match else (0, 0)
    if not 1 <= number <= shards:
        raise UserError(f"--shard {text}: must be K/N, such as 1/4 for the first of four shards")
    return number, shards
