"""The tables of an experiment, from made-up runs."""

import shutil
import subprocess

import pytest
from matplotlib.figure import Figure

from bert4so.data.stats import Statistics
from bert4so.errors import UserError
from bert4so.experiments.finished_cell import parse_cell
from bert4so.experiments.plan import Grid
from bert4so.experiments.report.paper_figures import table_figure, tau_by_length
from bert4so.experiments.report.paper_numbers import (
    CORPORA,
    TABLE_1,
    TABLE_3,
    TITLES,
    table_3_row,
)
from bert4so.experiments.report.paper_tables import cost, sweep, table_1, table_2, table_3
from bert4so.experiments.report.table import MISSING, Entry, Number, Table
from bert4so.experiments.results import epochs_seen
from bert4so.modeling.sentence_encoders.row_encoder import MAX_STORED_TOKENS
from made_up_cells import BAD, GOOD, facts, results_of


def test_other_corpora_and_systems_are_shown(desk):
    own = desk.model_copy(
        update={
            "corpora": {**desk.corpora, "Mine": desk.corpora["NeurIPS"]},
            "systems": {**desk.systems, "better": {"system": "bert4so"}},
            "grids": {"table-1": Grid(systems=["better", "bert4so"], corpora=["Mine", "SIND"])},
        }
    )
    finished = {
        "better-mine-seed-1": facts("better", "Mine", GOOD),
        "bert4so-mine-seed-1": facts("bert4so", "Mine", BAD),
    }
    table = table_1(results_of(own, finished))
    assert [corpus for corpus, _ in table.groups] == ["SIND (stand-in)", "Mine"]
    assert dict(table.rows)["better"][2].markdown() == "**0.9500**▲"
    counted = Statistics({"train": 3}, sentences=(1.0, 2), pieces=(2.0, 4), tokens=(4.0, 8))
    row = dict(table_3(results_of(own, finished), {"Mine": counted}).rows)["Mine"]
    assert [entry.markdown() for entry in row] == ["4", "2.00", "3", "0", "0"]


def test_marks_show_the_significantly_better_system(desk):
    finished = {
        "bert4so-neurips-seed-1": facts("bert4so", "NeurIPS", GOOD),
        "b-tsort-neurips-seed-1": facts("b-tsort", "NeurIPS", BAD),
        "bert4so-nsf-seed-1": facts("bert4so", "NSF", BAD),
        "b-tsort-nsf-seed-1": facts("b-tsort", "NSF", GOOD, source="other"),
    }
    table = table_1(results_of(desk, finished))
    rows = dict(table.rows)
    heads = [corpus for corpus, columns in table.groups for _ in columns]
    neurips, nsf = heads.index("NeurIPS"), heads.index("NSF (stand-in)")
    assert rows["B-TSort"][neurips].markdown() == "0.6500† (0.7884)"
    assert rows["BERT4SO"][neurips].markdown() == "0.9500 (0.7778)"
    assert rows["BERT4SO"][neurips + 1].markdown() == "75.00 (30.70)"
    assert rows["B-TSort"][nsf].markdown() == "0.9500▲ (0.4813)"
    assert rows["RankTxNet"][nsf].markdown() == "– (0.4899)"
    notes = " ".join(table.notes)
    assert "2 versions of the source: s (3), other (1)" in notes
    assert f"Not yet run: {5 * 11 - 4} of {5 * 11} runs" in notes


def test_best_is_marked_when_the_column_is_finished(desk):
    systems = desk.grids["table-1"].systems
    finished = {f"{s}-neurips-seed-1": facts(s, "NeurIPS", BAD) for s in systems[1:]}
    finished["se-graph-neurips-seed-1"] = facts("se-graph", "NeurIPS", GOOD)
    assert not any(row[0].best for _, row in table_1(results_of(desk, finished)).rows)
    finished[f"{systems[0]}-neurips-seed-1"] = facts(systems[0], "NeurIPS", BAD)
    rows = table_1(results_of(desk, finished)).rows
    assert [name for name, row in rows if row[0].best] == ["SE-Graph"]


@pytest.mark.parametrize("limit, marked", [(10.0, False), (0.0, True)], ids=["minutes", "epochs"])
def test_runs_with_a_time_limit_on_two_machines_get_no_marks(desk, limit, marked):
    systems = desk.grids["table-1"].systems
    finished = {f"{s}-neurips-seed-1": facts(s, "NeurIPS", BAD, limit=limit) for s in systems}
    slow = facts("bert4so", "NeurIPS", GOOD, limit=limit, processor="slow")
    finished["bert4so-neurips-seed-1"] = slow
    finished["bert4so-sind-seed-1"] = facts("bert4so", "SIND", GOOD, limit=limit, processor="slow")
    table = table_1(results_of(desk, finished))
    rows = dict(table.rows)
    assert rows["B-TSort"][0].markdown() == f"0.6500{'†' if marked else ''} (0.7884)"
    assert rows["BERT4SO"][0].markdown() == f"{'**0.9500**' if marked else '0.9500'} (0.7778)"
    notes = " ".join(table.notes)
    assert "p, 2 threads (10 on NeurIPS); slow, 2 threads (1 on NeurIPS, 1 on SIND)." in notes
    assert ("On NeurIPS they are not equally trained" in notes) == (not marked)


def test_seeds_of_a_sweep_can_run_on_different_machines(desk):
    seeds = desk.grids["layers"].seeds
    machines = dict(zip(seeds, ("p", "slow", "slow"), strict=True))
    names = {"": GOOD, "layers-1-": BAD, "layers-3-": BAD}
    finished = {
        f"bert4so-neurips-{name}seed-{seed}": facts(
            "bert4so", "NeurIPS", taus, seed=seed, processor=processor
        )
        for name, taus in names.items()
        for seed, processor in machines.items()
    }
    rows = dict(sweep(results_of(desk, finished), "layers", "model.layers", "Layers").rows)
    assert rows["2"][0].best
    finished[f"bert4so-neurips-seed-{seeds[0]}"]["metrics"]["machine"]["processor"] = "slow"
    table = sweep(results_of(desk, finished), "layers", "model.layers", "Layers")
    assert not any(entry.best for _, row in table.rows for entry in row)
    assert "or the finished ones" not in table.caption  # all are finished
    del finished[f"bert4so-neurips-seed-{seeds[0]}"]
    table = sweep(results_of(desk, finished), "layers", "model.layers", "Layers")
    assert "or the finished ones" in table.caption


def test_cost_does_not_compare_two_machines(desk):
    finished = {
        "bert4so-nsf-seed-1": facts("bert4so", "NSF", GOOD, limit=0.0),
        "b-tsort-nsf-seed-1": facts("b-tsort", "NSF", BAD, limit=0.0, processor="slow"),
    }
    table = cost(results_of(desk, finished))
    assert [entry.text for entry in dict(table.rows)["NSF (stand-in)"]] == ["–", "–", "–"]
    assert "p, 2 threads (1 on NSF); slow, 2 threads (1 on NSF)." in " ".join(table.notes)


def test_cost_does_not_compare_spinning_with_sleeping_threads(desk):
    finished = {
        "bert4so-nsf-seed-1": facts("bert4so", "NSF", GOOD),
        "b-tsort-nsf-seed-1": facts("b-tsort", "NSF", BAD),
    }
    finished["bert4so-nsf-seed-1"]["metrics"]["machine"]["OMP_WAIT_POLICY"] = "passive"
    finished["b-tsort-nsf-seed-1"]["metrics"]["machine"]["OMP_WAIT_POLICY"] = "active"
    table = cost(results_of(desk, finished))
    assert [entry.text for entry in dict(table.rows)["NSF (stand-in)"]] == ["–", "–", "–"]
    machines = "p, 2 threads (1 on NSF); p, 2 threads that spin (1 on NSF)."
    assert machines in " ".join(table.notes)


def test_cost_compares_equal_work(desk):
    finished = {
        "bert4so-nsf-seed-1": facts("bert4so", "NSF", GOOD, minutes=2.0),
        # It took five times as long for the same number of tokens. Its epoch has four times as many
        # tokens, and it is trained for 3 epochs instead of 5: 5 * 4 * 3 / 5 = 12.
        "b-tsort-nsf-seed-1": facts("b-tsort", "NSF", BAD, minutes=10.0, epoch_tokens=20000),
    }
    rows = dict(cost(results_of(desk, finished)).rows)
    assert [entry.text for entry in rows["NSF (stand-in)"]] == ["12.0×", "20.0×", "5.0×"]
    assert [entry.text for entry in rows["SIND (stand-in)"]] == ["–", "–", "–"]


@pytest.mark.parametrize(
    "tokens, noted", [(20 * MAX_STORED_TOKENS, False), (20 * MAX_STORED_TOKENS + 1, True)]
)
def test_recomputed_activations_are_noted(desk, tokens, noted):
    finished = {"b-tsort-nsf-seed-1": facts("b-tsort", "NSF", BAD, steps=20, tokens=tokens)}
    notes = " ".join(cost(results_of(desk, finished)).notes)
    assert ("B-TSort's steps on NSF (stand-in) have more than 16,384 tokens" in notes) == noted


@pytest.mark.parametrize(
    "file, words, note",
    [
        ("glove.6B.100d.txt", 400_000, "glove.6B.100d.txt (400,000 words)"),
        ("glove.6B.100d.txt", 300, "glove.6B.100d.txt (300 of its 400,000 words)"),
        ("own.txt", 300, "own.txt (300 words)"),
    ],
)
def test_incomplete_word_vectors_are_noted(desk, file, words, note):
    cell = facts("cnn-ptrnet", "NSF", BAD) | {"vectors": {"file": file, "words": words}}
    notes = table_1(results_of(desk, {"cnn-ptrnet-nsf-seed-1": cell})).notes
    assert f"Word vectors: {note}." in notes


def test_epochs_seen_counts_an_incomplete_last_batch():
    twice = facts("bert4so", "NSF", GOOD, training_documents=41, steps=22)  # batches of 4
    assert epochs_seen(parse_cell(twice)) == 2


def test_runs_on_other_documents_are_not_compared(desk):
    finished = {
        "bert4so-neurips-seed-1": facts("bert4so", "NeurIPS", GOOD),
        "b-tsort-neurips-seed-1": facts("b-tsort", "NeurIPS", BAD) | {"puzzles": "others"},
    }
    with pytest.raises(UserError, match="b-tsort-NeurIPS: tested on different documents"):
        table_1(results_of(desk, finished))


def test_sweeps_choose_on_validation(desk):
    finished = {}
    for seed in desk.grids["layers"].seeds:
        finished[f"bert4so-neurips-layers-1-seed-{seed}"] = facts(
            "bert4so", "NeurIPS", BAD, test={"tau": 0.99, "pmr": 0.99, "documents": 40}
        )
        finished[f"bert4so-neurips-seed-{seed}"] = facts("bert4so", "NeurIPS", GOOD)
    rows = dict(sweep(results_of(desk, finished), "layers", "model.layers", "Layers").rows)
    assert rows["2"][0].markdown() == "0.9500 ± 0.0000"  # nothing is chosen before all are finished
    assert rows["3"][0].text == "–"
    for seed in desk.grids["layers"].seeds:
        finished[f"bert4so-neurips-layers-3-seed-{seed}"] = facts("bert4so", "NeurIPS", BAD)
    rows = dict(sweep(results_of(desk, finished), "layers", "model.layers", "Layers").rows)
    assert rows["2"][0].markdown() == "**0.9500 ± 0.0000**"
    assert [entry.best for entry in rows["1"]] == [False] * 4
    assert rows["1"][2].text == "0.9900 ± 0.0000"


@pytest.mark.parametrize(
    "grid, heading, latex", [("gamma", "γ", r"$\gamma$"), ("layers", "layers", "layers")]
)
def test_a_sweep_names_the_varied_setting(desk, grid, heading, latex):
    finished = {"bert4so-neurips-seed-3": facts("bert4so", "NeurIPS", GOOD)}
    table = sweep(results_of(desk, finished), grid, f"model.{grid}", "")
    assert f"| {heading} | validation τ |" in table.markdown()
    assert rf"{latex} & $\tau$ & PMR" in table.latex()
    axes = Figure().subplots()
    table_figure(table, ["τ"])(axes)
    assert axes.get_ylabel() == heading


@pytest.mark.parametrize("gamma", [0.25, 1.0])
def test_clipping_with_a_margin_below_1_is_noted(desk, gamma):
    cell = facts("bert4so", "NeurIPS", GOOD)
    cell["metrics"]["run"]["model"]["gamma"] = gamma
    finished = results_of(desk, {"bert4so-neurips-gamma-0.25-seed-3": cell})
    notes = " ".join(sweep(finished, "gamma", "model.gamma", "The margin").notes)
    assert ("clips γ - F at 0.01" in notes) == (gamma < 1)


def test_a_figure_has_the_numbers_of_its_table():
    entries = [
        Entry(Number(1234.5, "{:,.0f}", spread=0.25), paper=Number(1000, "{:,}")),
        MISSING,
        Entry(Number(-2.5, "{:.1f}×")),
    ]
    rows = [(name, [entry]) for name, entry in zip("abc", entries, strict=True)]
    axes = Figure().subplots()
    table_figure(Table("t", "", [("", ["τ"])], rows), ["τ"])(axes)
    own, papers = axes.containers
    assert own.lines[0].get_xydata().tolist() == [[1234.5, 0], [-2.5, 2]]
    (spreads,) = own.lines[2]
    assert spreads.get_segments()[0].tolist() == [[1234.25, 0], [1234.75, 0]]
    assert papers.lines[0].get_xydata().tolist() == [[1000, 0]]


def test_table_2_has_joined_and_separate_training(desk):
    finished = {
        "bert4so-aan-seed-1": facts("bert4so", "AAN", BAD),
        "bert4so-aan-joined-seed-1": facts("bert4so", "AAN", GOOD, join=["neurips"]),
    }
    rows = dict(table_2(results_of(desk, finished)).rows)
    entries = rows["AAN (stand-in)"]
    assert [entry.text for entry in entries] == ["0.6500", "0.00", "0.9500", "75.00"]
    assert str(entries[2].paper) == "0.8265"


def test_latex_has_groups_rules_and_escapes():
    entry = Entry(Number(1, "{}"), "†", True, Number(2, "{}"))
    table = Table(
        name="t",
        caption="τ & more, 5 %.",
        groups=[("NSF", ["τ", "PMR"]), ("SIND", ["τ", "PMR"])],
        rows=[
            ("A", [entry] * 4),
            ("B", [MISSING] * 4),
        ],
        ruled=[1],
    )
    latex = table.latex()
    assert r"\multicolumn{2}{c}{NSF} & \multicolumn{2}{c}{SIND} \\" in latex
    assert r"\cmidrule(lr){2-3} \cmidrule(lr){4-5}" in latex
    assert r"A & \textbf{1}$^\dag$ {\scriptsize (2)}" in latex
    assert latex.index(r"\midrule", latex.index("A &")) < latex.index("B &")
    assert r"\caption{$\tau$ \& more, 5 \%.}" in latex
    assert table.markdown().splitlines()[2] == "|  | NSF τ | NSF PMR | SIND τ | SIND PMR |"


def test_lengths_with_few_documents_are_left_out():
    lengths, taus = [3] * 10 + [4] * 9, [1.0] * 4 + [0.5] * 6 + [1.0] * 9
    assert tau_by_length(lengths, taus) == {3: pytest.approx(0.7)}


def test_table_1_has_every_system_and_corpus():
    assert set(TABLE_1) == {(system, corpus) for system in TITLES for corpus in CORPORA}


def test_table_3_has_the_papers_totals():
    assert list(TABLE_3) == list(CORPORA)
    totals = [sum(row.documents.values()) for row in TABLE_3.values()]
    assert totals == [3_259, 12_157, 127_775, 50_200, 98_161]
    assert table_3_row("rocstory") == table_3_row("ROCStory") == TABLE_3["ROCStory"]
    assert table_3_row("sample") is None


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_pdflatex_accepts_the_tables(desk, tmp_path):
    systems = desk.grids["table-1"].systems
    finished = {f"{s}-neurips-seed-1": facts(s, "NeurIPS", GOOD) for s in systems}
    results = results_of(desk, finished)
    tables = "".join(table.latex() for table in (table_1(results), table_2(results), cost(results)))
    (tmp_path / "all.tex").write_text(
        r"\documentclass{article}\usepackage[margin=1in]{geometry}"
        r"\usepackage{booktabs,amssymb,graphicx}\begin{document}" + tables + r"\end{document}"
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "Overfull" not in done.stdout
