"""Made-up finished cells of an experiment, for tests of tables and claims."""

import json
from functools import cache

from bert4so.experiments.finished_cell import parse_cell
from bert4so.experiments.plan import Experiment, make_plan
from bert4so.experiments.plan_file import Plan
from bert4so.experiments.results import Results

GOOD = [1.0] * 30 + [0.8] * 10
BAD = [0.6] * 30 + [0.8] * 10
SAME = [0.8, 1.0] * 20


def facts(
    system,
    corpus,
    taus,
    join=(),
    source="s",
    minutes=10.0,
    limit=10.0,
    seed=1,
    processor="p",
    **metrics,
):
    """The content of the file of a cell whose documents have these taus."""
    tau, pmr = sum(taus) / len(taus), sum(t == 1 for t in taus) / len(taus)
    scores = {"tau": tau, "pmr": pmr, "documents": len(taus)}
    return {
        "cell": f"{system}-{corpus}",
        "system": system,
        "corpus": corpus,
        "source": source,
        "puzzles": corpus,
        "threads": 2,
        "tokens_per_second": [90, 100],
        "documents": {"sentences": [5] * len(taus), "tau": list(taus)},
        "validations": [{"step": 1, "minutes": 1.0, "tau": tau, "pmr": pmr}],
        "seconds_for": {"5": 0.1},
        "vectors": None,
        "tagger": None,
        "wall_minutes": 2 * minutes,
        "metrics": {
            "test": scores,
            "valid": scores,
            "run": {
                "model": {"encoder": "e"},
                "join": list(join),
                "minutes": limit,
                "seed": seed,
                "train": {"batch": 4, "epochs": 3 if system == "b-tsort" else 5},
                "valid_documents": 300,
                "test_documents": 1000,
            },
            "training_documents": 40,
            "steps": 20,
            "tokens": 2000,
            "epoch_tokens": 5000,
            "cpu_minutes": minutes,
            "test_cpu_seconds": minutes,
            "epoch": 1,
            "machine": {"cores": 2, "processor": processor, "torch": "2"},
            **metrics,
        },
    }


def results_of(experiment, cells):
    """The results of an experiment whose finished cells have these contents."""
    plan = plan_of(experiment.model_dump_json())
    return Results(plan, {name: parse_cell(cell) for name, cell in cells.items()})


@cache
def plan_of(experiment: str) -> Plan:
    return make_plan(Experiment.model_validate_json(experiment))


def finish(store, name, minutes):
    """Store a planned cell as finished after this many minutes."""
    planned = store.plan.cells[name]
    cell = facts(planned.system, planned.corpus, GOOD) | {"cell": name, "wall_minutes": minutes}
    cell["metrics"]["run"] = json.loads(json.dumps(planned.settings))
    store.write(name, cell)
