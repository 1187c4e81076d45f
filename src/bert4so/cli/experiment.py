"""`bert4so experiment`."""

import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from bert4so.cli.options import need_train_extra
from bert4so.common.progress import say
from bert4so.errors import Stopped, UserError

RESULTS = Path("results")

app = typer.Typer(
    name="experiment",
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Run the paper's experiments, and make its tables.",
)


@app.command()
def run(
    config: Annotated[
        Path,
        typer.Argument(
            metavar="CONFIG.toml",
            help="An experiment, as configs/experiments/sample.toml.",
            show_default=False,
        ),
    ],
    shard: Annotated[
        str, typer.Option(metavar="K/N", help="Only the k-th of n parts: one a machine.")
    ] = "1/1",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where finished cells are kept, a JSON file each.",
            show_default="results/CONFIG",
        ),
    ] = None,
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
    from bert4so.experiments.cells import is_finished, run_cell
    from bert4so.experiments.corpus_statistics import write_statistics
    from bert4so.experiments.eta import remaining
    from bert4so.experiments.plan import all_cells, read_experiment

    results = out or RESULTS / config.stem
    planned = read_experiment(config)
    part, parts = _shard(shard)
    everything = all_cells(planned)
    cells = everything[part - 1 :: parts]
    missing = [cell for cell in cells if not is_finished(results, cell)]
    results.mkdir(parents=True, exist_ok=True)
    (results / "experiment.toml").write_bytes(config.read_bytes())
    if part == 1:  # parts that run at once would write the same file at the same moment
        write_statistics(planned, results)
    failed = []
    for cell in missing:
        say(remaining(results, everything, cells, cell))
        try:
            run_cell(cell, results, work or Path("runs") / config.stem)
        except Stopped:
            raise Stopped(f"stopped; {results} goes on with the same command") from None
        except UserError as error:  # of this cell: the others may do
            say(f"{cell.name} failed: {error}")
            failed.append(cell.name)
    if failed:
        raise UserError(f"{len(failed)} of {len(cells)} cells failed: {', '.join(failed)}")
    sys.stdout.write(f"{results}: all {len(cells)} cells are there\n")


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
    need_train_extra()
    from bert4so.experiments.report.page import write_page

    folder = Path(name) if Path(name).is_dir() else RESULTS / name
    if not (folder / "experiment.toml").exists():
        raise UserError(f"{folder}: not what `bert4so experiment run` wrote")
    page = out or Path("docs") / f"{folder.name}.md"
    if page.suffix != ".md":
        raise UserError(f"--out {page}: wanted a page in .md")
    write_page(folder, page)
    sys.stdout.write(f"{page}\n")


def _shard(text: str) -> tuple[int, int]:
    """The part, from 1, and how many there are."""
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    part, parts = map(int, found.groups()) if found else (0, 0)
    if not 1 <= part <= parts:
        raise UserError(f"--shard {text}: wanted K/N, as 1/4: the first of four parts")
    return part, parts
