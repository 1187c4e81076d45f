import itertools
import math
import random
import re
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from bert4so.data.corpus import read_split
from bert4so.document import Decision, Ordering, Puzzle
from bert4so.errors import UserError
from bert4so.evaluation.calibration import temperature
from bert4so.evaluation.evaluate import Prediction, solve
from bert4so.evaluation.figures import (
    most_frequent_length,
    place_shares,
    position_shares,
    tau_by_length,
)
from bert4so.evaluation.html_report import evaluation_page
from bert4so.evaluation.metrics import kendall_tau
from bert4so.ranking.plackett_luce import ranked

SAMPLE = Path(__file__).parents[2] / "data" / "sample"
FACTS = [("model", "runs/demo"), ("command", "bert4so evaluate runs/demo sample")]
METRICS = [("τ", "0.1234", "0.1 to 0.2", "the mean over documents")]
VOID = {"meta", "br", "hr", "img", "link", "input"}
SCRIPT = "<script>alert('1')</script>"


class Noise:
    """A backend with random scores, whose variance depends on the sentence."""

    def order(self, puzzles):
        return [Ordering.of(puzzle, ranked(self.scores(puzzle)), []) for puzzle in puzzles]

    def scores(self, puzzle):
        return np.array([random.Random(s).gauss(0, len(s) / 20) for s in puzzle.sentences])


class Page(HTMLParser):
    """A parsed page; a tag that is not closed correctly is an error."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.texts, self.attributes = [], [], {}, []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.texts.setdefault(tag, [])
        if tag not in VOID:
            self.open.append(tag)
            self.texts[tag].append("")

    def handle_startendtag(self, tag, attrs):
        assert "svg" in self.open, "only foreign elements close themselves"
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        for tag in set(self.open):
            self.texts[tag][-1] += data


@pytest.fixture(scope="module")
def predictions():
    return solve(Noise(), read_split(SAMPLE, "test"))


@pytest.fixture(scope="module")
def held_out():
    return solve(Noise(), read_split(SAMPLE, "valid"))


@pytest.fixture(scope="module")
def html(predictions, held_out):
    return evaluation_page("demo", FACTS, METRICS, predictions, held_out)


def one(id, predicted, true, confidence=0.5, sentence="sentence"):
    puzzle = Puzzle(tuple(f"{sentence} {i} of {id}" for i in range(len(true))), list(true))
    return Prediction(id, puzzle, Ordering.of(puzzle, Decision(list(predicted), confidence), []))


def test_the_page_loads_nothing_and_runs_no_script(html):
    page = Page(html)
    assert not {"script", "link", "img", "image", "iframe", "object", "embed"} & set(page.tags)
    names = {name for name, _ in page.attributes}
    assert not {"src", "srcset", "action", "data"} & names
    assert not [name for name in names if name.startswith("on")]
    links = [value for name, value in page.attributes if name.endswith("href")]
    assert links
    assert all(link.startswith("#") for link in links)
    # Sentences may contain an address. In attributes, only SVG's own namespaces do.
    with_address = {name for name, value in page.attributes if value and "//" in value}
    assert with_address == {"xmlns", "xmlns:xlink"}
    assert not [style for style in page.texts["style"] if "//" in style]
    assert "@import" not in html
    assert re.findall(r"url\((.)", html) == ["#"] * html.count("url(")


def test_the_page_is_well_formed_and_its_figures_are_xml(html):
    page = Page(html)
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(set(ids)) == len(ids)
    figures = re.findall(r"<svg.*?</svg>", html, flags=re.DOTALL)
    assert len(figures) == 4
    assert "<?xml" not in html
    assert html.lower().count("<!doctype") == 1
    for figure in figures:
        root = ElementTree.fromstring(figure)
        assert root.get("role") == "img"
        assert root.get("aria-label")
        assert "#000000" not in figure  # a fixed color is unreadable in dark mode
    linked = {value for name, value in page.attributes if name.endswith("href")}
    assert {link[1:] for link in linked | set(re.findall(r"url\((.*?)\)", html))} <= set(ids)


def test_every_table_and_figure_has_a_caption(html):
    page = Page(html)
    for thing, caption in (("table", "caption"), ("figure", "figcaption")):
        assert len(page.texts[thing]) == len(page.texts[caption]) > 0
        assert all(text.strip() for text in page.texts[caption])


def test_title_facts_and_metrics_are_shown(html):
    page = Page(html)
    assert page.texts["h1"] == page.texts["title"] == ["demo"]
    assert list(zip(page.texts["dt"], page.texts["dd"], strict=True)) == FACTS
    assert page.texts["td"][:4] == list(METRICS[0])


def test_text_is_escaped_everywhere():
    tricky = one(SCRIPT, [0, 1], [0, 1], sentence=SCRIPT)
    page = Page(evaluation_page(SCRIPT, [(SCRIPT, SCRIPT)], [(SCRIPT,) * 4], [tricky]))
    assert "script" not in page.tags
    for tag in ("title", "h1", "dt", "dd", "td", "h3"):
        assert page.texts[tag][0] == SCRIPT
    assert page.texts["bdi"] == [f"{SCRIPT} {i} of {SCRIPT}" for i in (0, 1, 0, 1)]


def test_invalid_characters_are_replaced():
    broken = one("half \ud800", [0, 1], [0, 1], sentence="\0")
    page = Page(evaluation_page("demo", FACTS, METRICS, [broken]).encode().decode())
    assert page.texts["h3"] == ["half \ufffd"]
    assert page.texts["bdi"][0].startswith("\ufffd 0")


def test_the_ten_best_and_the_ten_worst_are_shown(predictions, html):
    def by(sign):
        return [
            s.id
            for s in sorted(
                predictions,
                key=lambda s: (sign * kendall_tau(*s.orders), -s.ordering.confidence, s.id),
            )
        ]

    assert Page(html).texts["h3"] == [*by(-1)[:10], *by(1)[:10]]


def test_ties_are_sorted_by_confidence_and_id():
    right = [one(f"r{i}", [0, 1], [0, 1], c) for i, c in enumerate([0.1, 0.9, 0.5, 0.5] * 3)]
    wrong = [one(f"w{i}", [1, 0], [0, 1], c) for i, c in enumerate([0.1, 0.9, 0.5, 0.5] * 3)]
    shown = Page(evaluation_page("demo", FACTS, METRICS, [*wrong, *right])).texts["h3"]
    expected = ["1", "5", "9", "10", "11", "2", "3", "6", "7", "0"]
    assert shown == [f"r{i}" for i in expected] + [f"w{i}" for i in expected]


def test_no_document_is_both_best_and_worst():
    few = [
        one(str(i), order, [0, 1, 2]) for i, order in enumerate(itertools.permutations(range(3)))
    ]
    page = Page(evaluation_page("demo", FACTS, METRICS, few))
    assert sorted(page.texts["h3"]) == list("012345")
    assert page.texts["h2"][-2:] == ["Best documents (3)", "Worst documents (3)"]


def test_a_document_is_shown_in_true_and_predicted_order():
    # The true order of the puzzle's sentences is 2, 0, 3, 1; the predicted one is 0, 1, 2, 3.
    page = Page(evaluation_page("demo", FACTS, METRICS, [one("d", [0, 1, 2, 3], [2, 0, 3, 1])]))
    true = [f"sentence {i} of d" for i in (2, 0, 3, 1)]
    predicted = [f"{place}sentence {i} of d" for i, place in enumerate([2, 4, 1, 3])]
    assert page.texts["li"] == true + predicted
    # Pairs in the wrong order: (1, 2), (0, 2), (1, 3) of six.
    assert page.texts["p"] == ["τ 0.00, confidence 0.5"]


def test_documents_of_one_sentence_are_left_out(predictions, held_out, html):
    single = [one(f"single {i}", [0], [0], 1.0) for i in range(3)]
    more = evaluation_page("demo", FACTS, METRICS, [*single, *predictions], [*single, *held_out])
    assert more.replace("left out: 3", "left out: 0") == html
    with pytest.raises(UserError, match="cannot write a report"):
        evaluation_page("demo", FACTS, METRICS, single)


def test_the_same_input_gives_the_same_page(predictions, held_out, html):
    assert evaluation_page("demo", FACTS, METRICS, predictions, held_out) == html


def test_the_temperature_is_fitted_on_validation_documents(predictions, held_out, html):
    right = [predicted == true for predicted, true in (s.orders for s in held_out)]
    fitted = temperature([s.ordering.confidence for s in held_out], right)
    assert f"with temperature {fitted:.3f}" in html
    assert f"{len(held_out)} validation documents" in html
    without = evaluation_page("demo", FACTS, METRICS, predictions)
    assert "no temperature could be fitted" in without
    assert "with temperature" not in without


def test_tau_by_length_has_mean_and_interval():
    orders = [[0, 1, 2, 3], [1, 0, 2, 3], [1, 2, 3, 0], [3, 2, 0, 1]]
    alone = one("alone", [1, 0], [0, 1])
    four, two = [one(str(i), order, range(4)) for i, order in enumerate(orders)], [alone]
    shorter, longer = tau_by_length([*four, *two])
    assert (shorter.n, shorter.documents, shorter.tau, shorter.interval) == (2, 1, -1, None)
    taus = [1, 1 - 2 * 1 / 6, 1 - 2 * 3 / 6, 1 - 2 * 5 / 6]
    mean = sum(taus) / 4
    deviation = math.sqrt(sum((tau - mean) ** 2 for tau in taus) / 3)
    half = 3.18245 * deviation / math.sqrt(4)  # Student's t at 0.975, 3 degrees of freedom
    assert (longer.n, longer.documents) == (4, 4)
    assert longer.tau == pytest.approx(mean)
    assert longer.interval == pytest.approx((max(-1, mean - half), min(1, mean + half)), abs=1e-5)
    (wide,) = tau_by_length([one("right", [0, 1], [0, 1]), alone])
    assert wide.interval == (-1, 1)


def test_place_shares_match_counting():
    cycle = one("cycle", [1, 2, 3, 0], [2, 0, 3, 1])
    same = one("same", [2, 0, 3, 1], [2, 0, 3, 1])
    expected = np.zeros((4, 4))
    for document in (cycle, same):
        predicted, true = document.orders
        for sentence in range(4):
            expected[true.index(sentence), predicted.index(sentence)] += 1 / 2
    other = one("other", [0, 1], [0, 1])
    assert most_frequent_length([other, cycle, same]) == 4
    np.testing.assert_allclose(place_shares([other, cycle, same], 4), expected)


def overlap(a, n, b, m):
    """The overlap of part a of n equal parts of a text and part b of m, counted from 0."""
    shared = min(Fraction(a + 1, n), Fraction(b + 1, m)) - max(Fraction(a, n), Fraction(b, m))
    return max(shared, Fraction(0))


def test_position_shares_match_the_overlaps():
    documents = [one("3", [1, 2, 0], [2, 0, 1]), one("12", [*range(5, 12), *range(5)], range(12))]
    expected = np.zeros((10, 10))
    for document in documents:
        predicted, true = document.orders
        n = len(true)
        for row, column, sentence in itertools.product(range(10), range(10), range(n)):
            in_true = 10 * overlap(row, 10, true.index(sentence), n)
            in_predicted = n * overlap(predicted.index(sentence), n, column, 10)
            expected[row, column] += float(in_true * in_predicted) / len(documents)
    np.testing.assert_allclose(position_shares(documents), expected)
    np.testing.assert_allclose(position_shares(documents).sum(1), 1)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_all_orders_together_give_chance_shares(n):
    every = [one(str(order), order, range(n)) for order in itertools.permutations(range(n))]
    np.testing.assert_allclose(position_shares(every), 0.1)
    np.testing.assert_allclose(place_shares(every, n), 1 / n)
