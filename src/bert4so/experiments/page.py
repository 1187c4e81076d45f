"""The page of an experiment: its tables, its figures, and what becomes of the paper's claims."""

from collections.abc import Callable
from pathlib import Path

from matplotlib.axes import Axes

from bert4so.atomic import write_whole
from bert4so.config import leaves
from bert4so.data.stats import PAPER as PAPER_STATISTICS
from bert4so.experiments import pictures
from bert4so.experiments.cells import read_cells
from bert4so.experiments.claims import claims
from bert4so.experiments.paper import CORPORA, TABLE_1, TITLES
from bert4so.experiments.plan import all_cells, read_experiment
from bert4so.experiments.results import Facts, Results, epochs_seen
from bert4so.experiments.statistics import read_statistics
from bert4so.experiments.table import Table
from bert4so.experiments.tables import cost, longer, sweep, table_1, table_2, table_3
from bert4so.run import make_run

TOLD_ELSEWHERE = {"model.loss", "model.vectors", "model.tagger"}
"""Numbers of a system that are not listed as different from the paper's."""


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
    for name, title, draw in _figures(results):
        pictures.save(draw, beside / f"{name}.png")
        parts += [f"## {title}", f"![{title}]({beside.name}/{name}.png)"]
    parts += ["## Where this is worse than the paper, and better", _against_the_paper(results)]
    write_whole(out, ("\n\n".join(part.strip() for part in parts) + "\n").encode())


def _tables(results: Results, folder: Path) -> list[tuple[str, Table, list[str]]]:
    """Each table, what it is called, and which of its columns are drawn."""
    grids = results.experiment.grids
    made = [("Table 1: all systems", table_1(results), ["τ"])]
    if "table-2" in grids:
        made.append(("Table 2: joined corpora", table_2(results), ["τ"]))
    made.append(
        (
            "Table 3: the corpora",
            table_3(results, read_statistics(results.experiment, folder)),
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


def _figures(results: Results) -> list[tuple[str, str, Callable[[Axes], None]]]:
    corpora = results.corpora("table-1")
    corpus, called = corpora[0], results.called(corpora[0])
    # Where documents are of many lengths there is most to be seen of them.
    varied = max(corpora, key=lambda name: len(pictures.lengths(results, name)))
    return [
        (
            "minutes",
            f"τ against minutes of training, {called}",
            pictures.by_minutes(results, corpus),
        ),
        *_losses(results),
        (
            "sentences",
            f"τ against length, {results.called(varied)}",
            pictures.by_sentences(results, varied),
        ),
        ("paid", f"What is paid for τ, {called}", pictures.by_cost(results, corpus)),
        ("time", "Time against the number of sentences", pictures.by_n(results, corpus)),
    ]


def _losses(results: Results) -> list[tuple[str, str, Callable[[Axes], None]]]:
    """The figure of both losses, where the experiment is about them."""
    if not results.planned("losses"):
        return []
    return [("losses", "Margin and plain ListMLE, by step", pictures.by_step(results, "losses"))]


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
        for system in (name for name in grid.systems if name in TITLES):
            for facts in results.finished("table-1", system=system, corpus=corpus)[:1]:
                test, paper = facts["metrics"]["test"], TABLE_1[system, corpus]
                gaps = test["tau"] - paper[0], 100 * test["pmr"] - paper[1]
                stand_in = bool(results.experiment.corpora[corpus].stand_in)
                rows.append((stand_in, gaps, TITLES[system], corpus, facts))
    rows.sort(key=lambda row: row[:2])
    lines = [
        f"| {title} | {results.called(corpus)} | {tau:+.4f} | {pmr:+.2f} "
        f"| {_differences(corpus, facts)} |"
        for _, (tau, pmr), title, corpus, facts in rows
    ]
    return "\n".join(
        [
            "In what a run differs from the paper's: how often it saw each document, how many it "
            "had to learn from (in brackets the paper's), and from which encoder it began, where "
            "it has one (the paper's is BERT-base). Stand-ins are last: a corpus is "
            "another there, and nothing follows about the paper's numbers.",
            "",
            "| system | corpus | τ, against the paper's | PMR | times seen | documents | encoder |",
            "|---|---|---|---|---|---|---|",
            *lines,
            "",
            "In which numbers the systems are not as they are for a GPU, with BERT-base:",
            "",
            *_settings(results),
        ]
    )


def _settings(results: Results) -> list[str]:
    """What of each system is another at this scale than at the paper's."""
    lines = ["| system | | at the paper's scale | here |", "|---|---|---|---|"]
    for system, changes in results.experiment.systems.items():
        cell = next(iter(results.planned("table-1", system=system)), None)
        if cell is None or system not in TITLES:
            continue
        given = {"system": changes.get("system", system), "corpus": cell.corpus}
        paper = make_run(given, system, like=cell.corpus.lower())
        before, now = (dict(leaves(run.model_dump())) for run in (paper, cell.run))
        for key in (key for key in now if key.startswith(("model.", "train."))):
            if now[key] != before.get(key) and key not in TOLD_ELSEWHERE:
                lines.append(f"| {TITLES[system]} | `{key}` | {before.get(key)} | {now[key]} |")
    return lines


def _differences(corpus: str, facts: Facts) -> str:
    """In what a run was another than the paper's."""
    metrics = facts["metrics"]
    theirs = PAPER_STATISTICS[corpus.lower()].documents["train"]
    encoder = Path(metrics["run"]["model"].get("encoder", "")).name
    seen = f"{epochs_seen(facts):.1f}"
    return f"{seen} | {metrics['training_documents']:,} ({theirs:,}) | {encoder}"
