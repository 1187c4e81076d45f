"""The page of an experiment: its tables, its figures, and what becomes of the paper's claims."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes

from bert4so.experiments.corpus_statistics import read_statistics
from bert4so.experiments.plan_file import read_plan
from bert4so.experiments.report import paper_figures as pictures
from bert4so.experiments.report.claims import claims
from bert4so.experiments.report.gaps import against_the_paper
from bert4so.experiments.report.paper_tables import cost, longer, sweep, table_1, table_2, table_3
from bert4so.experiments.report.table import Table
from bert4so.experiments.results import Results
from bert4so.experiments.store import TIMED_REPEATS, CellStore
from bert4so.io.atomic import write_atomic


def write_page(folder: Path, out: Path) -> None:
    """Make the page of what a folder of results holds, with a folder of tables and figures."""
    plan = read_plan(folder)
    results = Results(plan, CellStore(folder, plan).finished())
    beside = out.with_suffix("")
    beside.mkdir(parents=True, exist_ok=True)
    parts = [
        f"# Results: {folder.name}",
        f"{len(results.found)} of {len(plan.cells)} runs are finished. Made by "
        f"`bert4so experiment table {folder.name} --out {out}` from the files in `{folder}`, which "
        f"`bert4so experiment run configs/experiments/{folder.name}.toml` wrote"
        f"{_machines(results)}. Each table is beside this page in LaTeX.",
        "Times are those of the CPU over the number of threads: a system that keeps one core of "
        "two busy takes up to twice as long by the clock. Time of training is that of its steps: "
        "what it takes to validate, to read word vectors and to find SE-Graph's nouns is not "
        "counted. That of ordering is of all that is done with a document, nouns included; one "
        "that is longer than a system can read is cut.",
        "## The paper's claims",
        _claims(results),
    ]
    for title, table, shown in _tables(results, folder):
        (beside / f"{table.name}.tex").write_text(table.latex(), encoding="utf-8")
        pictures.save(pictures.by_table(table, shown), beside / f"{table.name}.png")
        figure = f"![{title}: {', '.join(shown)}]({beside.name}/{table.name}.png)"
        parts += [f"## {title}", table.markdown(), figure]
        if any(entry.paper for _, row in table.rows for entry in row):
            parts.append("In the figure the paper's own are hollow.")
    for picture in _pictures(results):
        pictures.save(picture.draw, beside / f"{picture.name}.png")
        figure = f"![{picture.title}]({beside.name}/{picture.name}.png)"
        parts += [f"## {picture.title}", picture.caption, figure]
    parts += ["## Where this is worse than the paper, and better", against_the_paper(results)]
    write_atomic(out, ("\n\n".join(part.strip() for part in parts) + "\n").encode())


def _tables(results: Results, folder: Path) -> list[tuple[str, Table, list[str]]]:
    """Each table, what it is called, and which of its columns are drawn."""
    grids = results.plan.grids
    made = [("Table 1: all systems", table_1(results), ["τ"])]
    if "table-2" in grids:
        made.append(("Table 2: joined corpora", table_2(results), ["τ"]))
    made.append(
        (
            "Table 3: the corpora",
            table_3(results, read_statistics(results.plan, folder)),
            ["Train"],
        )
    )
    if "gamma" in grids:
        gamma = sweep(results, "gamma", "model.gamma", "The margin γ of BERT4SO on NeurIPS")
        made.append(("The margin", gamma, ["τ"]))
    if "layers" in grids:
        caption = "Document layers of BERT4SO on NeurIPS"
        layers = sweep(results, "layers", "model.layers", caption)
        made.append(("Document layers", layers, ["τ"]))
    if "long" in grids:
        made.append(("BERT4SO trained longer", longer(results), ["τ"]))
    paid = cost(results)
    return [*made, ("Cost", paid, list(paid.groups[0][1]))] if paid.rows else made


@dataclass(frozen=True)
class Picture:
    """A figure that is not of a table."""

    name: str
    title: str
    caption: str
    draw: Callable[[Axes], None]


def _pictures(results: Results) -> list[Picture]:
    corpora = results.corpora("table-1")
    corpus, called = corpora[0], results.called(corpora[0])
    # Where documents are of many lengths there is most to be seen of them.
    varied = max(corpora, key=lambda name: len(pictures.lengths(results, name)))
    machines = dict.fromkeys(
        cell.machine.label for cell in results.finished("table-1", corpus=corpus)
    )
    where = f" On {' and '.join(machines)}." if machines else ""
    return [
        Picture(
            "minutes",
            f"τ against minutes of training, {called}",
            f"The runs of Table 1, while they learn.{where}",
            pictures.by_minutes(results, corpus),
        ),
        *_losses(results),
        Picture(
            "sentences",
            f"τ against length, {results.called(varied)}",
            "The runs of Table 1; lengths of which there are fewer than "
            f"{pictures.FEWEST} test documents are left out.",
            pictures.by_sentences(results, varied),
        ),
        Picture(
            "paid",
            f"What is paid for τ, {called}",
            f"The runs of Table 1 on its test documents; faster is to the right.{where}",
            pictures.by_cost(results, corpus),
        ),
        Picture(
            "time",
            "Time against the number of sentences",
            f"One document of so many sentences from the test documents of {called}: the middle "
            f"of {TIMED_REPEATS} such. What does not fit a row of BERT4SO is cut.{where}",
            pictures.by_n(results, corpus),
        ),
    ]


def _losses(results: Results) -> list[Picture]:
    """The figure of both losses, where the experiment is about them."""
    planned = results.planned("losses")
    if not planned:
        return []
    corpora = ", ".join(dict.fromkeys(results.called(cell.corpus) for cell in planned))
    caption = f"BERT4SO on {corpora}, a line a seed, as long as each was trained."
    draw = pictures.by_step(results, "losses")
    return [Picture("losses", "Margin and plain ListMLE, by step", caption, draw)]


def _claims(results: Results) -> str:
    told = [(c.text, c.verdict, c.numbers.replace("\n", "<br>")) for c in claims(results)]
    rows = [f"| {text} | **{verdict}** | {numbers} |" for text, verdict, numbers in told]
    return "\n".join(["| claim | here | numbers |", "|---|---|---|", *rows])


def _machines(results: Results) -> str:
    machines = [cell.machine for cell in results.found.values()]
    kinds = {f"{machine.cores} cores of {machine.processor}" for machine in machines}
    return f" on {' and '.join(sorted(kinds))}" if kinds else ""
