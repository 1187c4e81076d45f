"""The page of an experiment: its tables, its figures, and what becomes of the paper's claims."""

from collections.abc import Callable
from pathlib import Path

from matplotlib.axes import Axes

from bert4so.atomic import write_whole
from bert4so.experiments import pictures
from bert4so.experiments.cells import read_cells
from bert4so.experiments.claims import claims
from bert4so.experiments.paper import CORPORA, TABLE_1, TITLES
from bert4so.experiments.plan import all_cells, read_experiment
from bert4so.experiments.statistics import read_statistics
from bert4so.experiments.table import Table
from bert4so.experiments.tables import Results, cost, sweep, table_1, table_2, table_3


def write_page(folder: Path, out: Path) -> None:
    """Make the page of what a folder of results holds, with a folder of tables and figures."""
    experiment = read_experiment(folder / "experiment.toml")
    cells = all_cells(experiment)
    results = Results(experiment, read_cells(folder, cells))
    beside = out.with_suffix("")
    beside.mkdir(parents=True, exist_ok=True)
    parts = [
        f"# Results: {folder.name}",
        f"{len(results.found)} of {len(cells)} runs are finished. Made by "
        f"`bert4so experiment table {folder.name}` from the files in `{folder}`, which "
        f"`bert4so experiment run configs/experiments/{folder.name}.toml` wrote"
        f"{_machines(results)}. Each table is beside this page in LaTeX.",
        "## The paper's claims",
        _claims(results),
    ]
    for title, table in _tables(results, folder):
        (beside / f"{table.name}.tex").write_text(table.latex(), encoding="utf-8")
        parts += [f"## {title}", table.markdown()]
    for name, title, draw in _figures(results):
        pictures.save(draw, beside / f"{name}.png")
        parts += [f"## {title}", f"![{title}]({beside.name}/{name}.png)"]
    parts += ["## Where this is worse than the paper, and better", _against_the_paper(results)]
    write_whole(out, ("\n\n".join(part.strip() for part in parts) + "\n").encode())


def _tables(results: Results, folder: Path) -> list[tuple[str, Table]]:
    grids = results.experiment.grids
    made = [("Table 1: all systems", table_1(results))]
    if "table-2" in grids:
        made.append(("Table 2: joined corpora", table_2(results)))
    made.append(("Table 3: the corpora", table_3(results, read_statistics(folder))))
    if "gamma" in grids:
        gamma = sweep(results, "gamma", "model.gamma", "The margin γ of BERT4SO on NeurIPS")
        made.append(("The margin", gamma))
    if "layers" in grids:
        caption = "Document layers of BERT4SO on NeurIPS"
        made.append(("Document layers", sweep(results, "layers", "model.layers", caption)))
    return [*made, ("Cost", cost(results))]


def _figures(results: Results) -> list[tuple[str, str, Callable[[Axes], None]]]:
    corpus = results.experiment.grids["table-1"].corpora[0]
    return [
        (
            "minutes",
            f"τ against minutes of training, {corpus}",
            pictures.by_minutes(results, corpus),
        ),
        ("losses", "Margin and plain ListMLE, by step", pictures.by_step(results, "losses")),
        ("sentences", f"τ against length, {corpus}", pictures.by_sentences(results, corpus)),
        ("paid", f"What is paid for τ, {corpus}", pictures.by_cost(results, corpus)),
        ("time", "Time against the number of sentences", pictures.by_n(results, corpus)),
    ]


def _claims(results: Results) -> str:
    rows = [f"| {c.text} | **{c.verdict}** | {c.numbers} |" for c in claims(results)]
    return "\n".join(["| claim | here | numbers |", "|---|---|---|", *rows])


def _machines(results: Results) -> str:
    machines = [facts["metrics"]["machine"] for facts in results.found.values()]
    kinds = {f"{machine['cores']} cores of {machine['processor']}" for machine in machines}
    return f" on {' and '.join(sorted(kinds))}" if kinds else ""


def _against_the_paper(results: Results) -> str:
    """Every number of Table 1 beside the paper's, those that are furthest below it first."""
    grid = results.experiment.grids["table-1"]
    rows = []
    for corpus in (name for name in CORPORA if name in grid.corpora):
        place = results.experiment.corpora[corpus]
        for system in grid.systems:
            for facts in results.finished("table-1", system=system, corpus=corpus)[:1]:
                tau, paper = facts["metrics"]["test"]["tau"], TABLE_1[system, corpus][0]
                rows.append((tau - paper, TITLES[system], corpus, bool(place.stand_in), facts))
    rows.sort(key=lambda row: row[0])
    lines = [
        f"| {title} | {corpus}{' (stand-in)' if stand_in else ''} | {gap:+.4f} "
        f"| {facts['metrics']['epoch']} | {facts['metrics']['training_documents']:,} |"
        for gap, title, corpus, stand_in, facts in rows
    ]
    return "\n".join(
        [
            "The papers' systems were trained until they no longer improved, on a GPU, those with "
            "BERT from BERT-base. Here each has the time that stands above, smaller encoders, and "
            "the training documents that are to be had; a system that had not seen its corpus "
            "often enough to converge (the fewer epochs, the less) is below the paper's number.",
            "",
            "| system | corpus | τ, against the paper's | epoch kept | training documents |",
            "|---|---|---|---|---|",
            *lines,
        ]
    )
