"""One orderer used in several processes and threads gives the results of a single one."""

import multiprocessing
import os
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest

from bert4so import Decision, Orderer, Ordering, UserError
from bert4so.common.machine import cores

TESTED_SYSTEMS = ["bert4so"]  # these tests do not depend on the system

DOCUMENTS = [["Then we ate.", "We cooked.", f"We bought {i} eggs."] for i in range(40)]

FORK = """
import os, sys
from bert4so import Orderer

orderer = Orderer.from_pretrained(sys.argv[1], threads=2)
documents = [["then eat bread", "first we wake up", f"on day {i}"] for i in range(20)]

def answers():
    return [*orderer.order_all(documents), orderer.order(documents[0])]

def in_a_fork():
    child = os.fork()
    if child:
        assert os.waitpid(child, 0)[1] == 0
        return []
    after = answers()
    sys.exit(0 if not before or after == before else 1)

if torch := sys.modules.get("torch"):  # start its threads, which the small model would not do
    table = torch.ones(500, 500)
    torch.softmax(table @ table, -1)
before = []
in_a_fork()
before = answers()
in_a_fork()
"""
"""Forks before and after the first use. The child orders documents, and must exit."""


@pytest.fixture(scope="module")
def orderer():
    return Orderer.from_pretrained(threads=2)


@pytest.fixture(scope="module")
def answers(orderer):
    return [ordering.order for ordering in orderer.order_all(DOCUMENTS)]


def orders(orderer, documents=DOCUMENTS):
    return [ordering.order for ordering in orderer.order_all(documents)]


@pytest.mark.parametrize("form", ["bundled", "trained"])
def test_a_forked_process_orders_and_exits(form, trained):
    model = trained if form == "trained" else form
    environment = {k: v for k, v in os.environ.items() if k != "ORT_DISABLE_TELEMETRY"}
    command = [sys.executable, "-c", FORK, str(model)]
    subprocess.run(command, env=environment, timeout=120, check=True)


@pytest.mark.parametrize("method", ["spawn", "fork"])
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_process_pool_gives_the_same_orders(orderer, answers, method):
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        first, second = pool.map(orders, [orderer] * 2, [DOCUMENTS[:20], DOCUMENTS[20:]])
    assert first + second == answers


@pytest.mark.parametrize("form", ["bundled", "trained"])
def test_threads_share_an_orderer(orderer, trained, form):
    shared = orderer if form == "bundled" else Orderer.from_pretrained(trained)
    one_by_one = [shared.order(document) for document in DOCUMENTS]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(shared.order, DOCUMENTS * 2))
        many = [pool.submit(orders, shared) for _ in range(4)]
    assert [one.order for one in together] == [one.order for one in one_by_one] * 2
    assert all(future.result() == [one.order for one in one_by_one] for future in many)


def test_only_the_path_is_pickled(orderer, answers):
    pickled = pickle.dumps(orderer)
    assert len(pickled) < 1000
    again = pickle.loads(pickled)
    assert orders(again) == answers
    assert again.backend.threads == 2


def test_the_bundled_model_is_pickled_without_its_path(orderer):
    assert b"pretrained/" not in pickle.dumps(orderer)
    assert os.sep.encode() + b"src" not in pickle.dumps(orderer)


def test_a_relative_path_is_pickled_as_an_absolute_one(trained, tmp_path, monkeypatch):
    monkeypatch.chdir(trained.parent)
    orderer = Orderer.from_pretrained(trained.name)
    pickled = pickle.dumps(orderer)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert orders(pickle.loads(pickled)) == orders(orderer)


class Reverse:
    """A backend of a user."""

    def order(self, puzzles):
        return [self.answer(puzzle) for puzzle in puzzles]

    def check(self, puzzle):
        pass

    def answer(self, puzzle):
        order = list(range(len(puzzle.sentences)))[::-1]
        return Ordering.of(puzzle, Decision(order, 1.0, tuple(map(float, order[::-1]))))


def test_a_custom_backend_is_pickled_with_the_orderer():
    again = pickle.loads(pickle.dumps(Orderer(Reverse())))
    assert isinstance(again.backend, Reverse)


def test_the_default_is_one_thread_per_core():
    assert Orderer.from_pretrained().backend.threads == cores()


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2"])
def test_an_invalid_number_of_threads_is_refused(threads):
    with pytest.raises(UserError, match=r"threads must be an integer of at least 1 \(got"):
        Orderer.from_pretrained(threads=threads)
