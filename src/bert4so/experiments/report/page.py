"""The results page of an experiment: verdicts on the paper's claims, tables and figures."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes

from bert4so.experiments.corpus_statistics import read_statistics
from bert4so.experiments.plan_file import read_plan
from bert4so.experiments.report import paper_figures as figures
from bert4so.experiments.report.claims import claims
from bert4so.experiments.report.gaps import compare_with_paper
from bert4so.experiments.report.paper_tables import cost, longer, sweep, table_1, table_2, table_3
from bert4so.experiments.report.table import Table
from bert4so.experiments.results import Results
from bert4so.experiments.store import TIMED_REPEATS, CellStore
from bert4so.io.atomic import write_atomic


def write_page(folder: Path, out: Path) -> None:
    """Write the page of a folder of results, and a folder with its tables and figures."""
    plan = read_plan(folder)
    results = Results(plan, CellStore(folder, plan).finished())
    figure_folder = out.with_suffix("")
    figure_folder.mkdir(parents=True, exist_ok=True)
    parts = [
        f"# Results: {folder.name}",
        f"{len(results.cells)} of {len(plan.cells)} runs are finished. This page was made by "
        f"`bert4so experiment table {folder.name} --out {out}` from the files in `{folder}`, which "
        f"`bert4so experiment run configs/experiments/{folder.name}.toml` wrote"
        f"{_machines(results)}. The folder `{figure_folder.name}` beside this page has each table "
        "in LaTeX.",
        "Times are CPU time divided by the number of threads, so a system that uses one of two "
        "cores can take twice as long by the clock. Training time is the time of the training "
        "steps; validation, reading word vectors and finding nouns for SE-Graph are not included. "
        "Ordering time includes everything done with a document, also finding nouns; a document "
        "that is longer than a system can read is cut.",
        "## The paper's claims",
        _claims(results),
    ]
    for title, table, columns in _tables(results, folder):
        (figure_folder / f"{table.name}.tex").write_text(table.latex(), encoding="utf-8")
        figures.save(figures.table_figure(table, columns), figure_folder / f"{table.name}.png")
        image = f"![{title}: {', '.join(columns)}]({figure_folder.name}/{table.name}.png)"
        parts += [f"## {title}", table.markdown(), image]
        if any(entry.paper for _, row in table.rows for entry in row):
            parts.append("Hollow markers are the paper's numbers.")
    for figure in _figures(results):
        figures.save(figure.draw, figure_folder / f"{figure.name}.png")
        image = f"![{figure.title}]({figure_folder.name}/{figure.name}.png)"
        parts += [f"## {figure.title}", figure.caption, image]
    parts += ["## Differences from the paper", compare_with_paper(results)]
    write_atomic(out, ("\n\n".join(part.strip() for part in parts) + "\n").encode())


def _tables(results: Results, folder: Path) -> list[tuple[str, Table, list[str]]]:
    """The title of each table, the table, and the columns that its figure shows."""
    grids = results.plan.grids
    tables = [("Table 1: all systems", table_1(results), ["τ"])]
    if "table-2" in grids:
        tables.append(("Table 2: joined corpora", table_2(results), ["τ"]))
    tables.append(
        (
            "Table 3: the corpora",
            table_3(results, read_statistics(results.plan, folder)),
            ["Train"],
        )
    )
    if "gamma" in grids:
        gamma = sweep(results, "gamma", "model.gamma", "The margin γ of BERT4SO on NeurIPS")
        tables.append(("The margin", gamma, ["τ"]))
    if "layers" in grids:
        caption = "Document layers of BERT4SO on NeurIPS"
        layers = sweep(results, "layers", "model.layers", caption)
        tables.append(("Document layers", layers, ["τ"]))
    if "long" in grids:
        tables.append(("BERT4SO trained longer", longer(results), ["τ"]))
    costs = cost(results)
    if costs.rows:
        tables.append(("Cost", costs, list(costs.groups[0][1])))
    return tables


@dataclass(frozen=True)
class ResultFigure:
    """A figure that does not belong to a table."""

    name: str
    title: str
    caption: str
    draw: Callable[[Axes], None]


def _figures(results: Results) -> list[ResultFigure]:
    corpora = results.corpora("table-1")
    corpus, corpus_title = corpora[0], results.corpus_title(corpora[0])
    # The corpus with the most lengths shows the most.
    varied = max(corpora, key=lambda name: len(figures.lengths(results, name)))
    machines = dict.fromkeys(
        cell.machine.label for cell in results.finished("table-1", corpus=corpus)
    )
    where = f" On {' and '.join(machines)}." if machines else ""
    return [
        ResultFigure(
            "minutes",
            f"τ by minutes of training, {corpus_title}",
            f"Validation τ of the runs of Table 1 during training.{where}",
            figures.minutes_figure(results, corpus),
        ),
        *_losses(results),
        ResultFigure(
            "sentences",
            f"τ by number of sentences, {results.corpus_title(varied)}",
            f"The runs of Table 1, for lengths with at least {figures.MIN_DOCUMENTS_PER_LENGTH} "
            "test documents.",
            figures.sentences_figure(results, varied),
        ),
        ResultFigure(
            "paid",
            f"τ by speed, {corpus_title}",
            f"The runs of Table 1 on the test documents; right is faster.{where}",
            figures.speed_figure(results, corpus),
        ),
        ResultFigure(
            "time",
            "Time by number of sentences",
            f"The time to order one document with sentences from the test documents of "
            f"{corpus_title}, median of {TIMED_REPEATS}. Documents that do not fit into a row of "
            f"BERT4SO are cut.{where}",
            figures.time_figure(results, corpus),
        ),
    ]


def _losses(results: Results) -> list[ResultFigure]:
    """The figure of both losses, if the experiment compares them."""
    planned = results.planned("losses")
    if not planned:
        return []
    corpora = ", ".join(dict.fromkeys(results.corpus_title(cell.corpus) for cell in planned))
    caption = f"BERT4SO on {corpora}, one line per seed, over its whole training."
    draw = figures.steps_figure(results, "losses")
    return [ResultFigure("losses", "ListMLE with and without margin, by step", caption, draw)]


def _claims(results: Results) -> str:
    cells = [(c.text, c.verdict, c.numbers.replace("\n", "<br>")) for c in claims(results)]
    rows = [f"| {text} | **{verdict}** | {numbers} |" for text, verdict, numbers in cells]
    return "\n".join(["| claim | verdict | numbers |", "|---|---|---|", *rows])


def _machines(results: Results) -> str:
    machines = [cell.machine for cell in results.cells.values()]
    kinds = {f"{machine.cores} cores of {machine.processor}" for machine in machines}
    return f" on {' and '.join(sorted(kinds))}" if kinds else ""
