"""Finished cells on disk are read once, and refused if they have other settings."""

import json
from pathlib import Path

import pytest

from bert4so.errors import UserError
from bert4so.experiments.finished_cell import Scores, Validation
from bert4so.experiments.plan_file import read_plan
from bert4so.experiments.store import CellStore
from made_up_cells import finish, plan_of

DESK = Path(__file__).parents[2] / "results" / "desk"
NAME = "bert4so-neurips-gamma-0.5-seed-2"


@pytest.fixture
def store(desk, tmp_path):
    return CellStore(tmp_path, plan_of(desk.model_dump_json()))


def change(store, name, **settings):
    """Change settings in the file of a cell; None removes one."""
    facts = json.loads(store.path(name).read_text())
    run = facts["metrics"]["run"]
    for key, value in settings.items():
        table = run["model"] if key in run["model"] else run
        table[key] = value
        if value is None:
            del table[key]
    store.path(name).write_text(json.dumps(facts))


def test_cells_of_earlier_versions_are_read():
    cells = CellStore(DESK, read_plan(DESK)).finished()
    assert len(cells) == 80
    facts = json.loads((DESK / "att-order-net-aan-seed-1.json").read_text())
    cell, metrics = cells["att-order-net-aan-seed-1"], facts["metrics"]
    test = metrics["test"]
    assert cell.test == Scores(test["tau"], test["pmr"], test["documents"])
    assert cell.validations[0] == Validation(step=134, minutes=0.503, tau=0.435053, pmr=0.18)
    assert sum(cell.taus) / len(cell.taus) == pytest.approx(cell.test.tau, abs=1e-6)
    assert len(cell.lengths) == cell.test.documents
    assert list(cell.seconds_for) == [5, 10, 20, 40]
    assert cell.settings.encoder is None
    assert cells["bert4so-neurips-gamma-0.25-seed-2"].settings.gamma == 0.25


def test_a_cell_is_read_once(store):
    assert store.get(NAME) is None
    finish(store, NAME, 20)
    first = store.get(NAME)
    store.path(NAME).unlink()
    assert store.get(NAME) is first
    assert list(store.finished()) == [NAME]


def test_a_cell_with_other_settings_is_refused(store):
    finish(store, NAME, 20)
    change(store, NAME, gamma=0.75)
    message = f"{NAME}.json was started with model.gamma = 0.75: cannot resume with .* = 0.5"
    with pytest.raises(UserError, match=message):
        store.get(NAME)


def test_a_newer_setting_must_have_its_default(store):
    finish(store, NAME, 20)
    change(store, NAME, train_documents=None)
    assert store.is_finished(NAME)
    other = "bert4so-nsf-seed-1"
    finish(store, other, 20)
    change(store, other, validations=None)
    with pytest.raises(UserError, match=r"validations = None: cannot resume with .* = 20"):
        store.is_finished(other)


def test_a_removed_setting_is_refused(store):
    finish(store, NAME, 20)
    change(store, NAME, depth=3)
    with pytest.raises(UserError, match="was started with depth = 3"):
        store.get(NAME)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"metrics": 3, "vectors": null}'])
def test_an_invalid_file_is_named(store, text):
    store.path(NAME).write_text(text)
    with pytest.raises(UserError, match=f"{NAME}.json: not a finished cell"):
        store.get(NAME)
