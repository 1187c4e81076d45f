"""The HTML report of an evaluation: one file that loads nothing and runs no script."""

import re
from collections.abc import Iterable, Sequence
from html import escape

from bert4so.document import inverse
from bert4so.errors import UserError
from bert4so.evaluation import figures
from bert4so.evaluation.calibration import (
    Bin,
    apply_temperature,
    calibration_bins,
    expected_calibration_error,
    temperature,
)
from bert4so.evaluation.evaluate import Prediction
from bert4so.evaluation.metrics import kendall_tau

MAX_EXAMPLES = 10
"""Number of best documents, and of worst documents, in the report."""

MAX_UNFOLDED_ROWS = 12
"""A table of lengths with more rows is folded."""

NOT_HTML = re.compile("[\0-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
"""Characters that HTML does not allow, including halves of surrogate pairs."""

STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1d21; --faint: #5d6470; --line: #d8dbe0;
  --right: #1f7a4d; --wrong: #b3541e; }
@media screen and (prefers-color-scheme: dark) { :root { --paper: #15171b; --ink: #e4e6ea;
  --faint: #a0a7b3; --line: #383d46; --right: #5fc393; --wrong: #eb9a63; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; }
h2 { margin: 2.5rem 0 0.75rem; font-size: 1.25rem; line-height: 1.25; }
h3, h4, p, ol, dl, dd, figure { margin: 0; font-size: 1rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.15rem 1rem; }
dt, caption, figcaption, summary, h4, p, li::marker { color: var(--faint); }
caption, figcaption, h4, p { max-width: 44rem; font-size: 0.9rem; text-align: left; }
caption { padding-bottom: 0.4rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.25rem 0.8rem 0.25rem 0; border-top: 1px solid var(--line); text-align: left;
  vertical-align: top; overflow-wrap: normal; }
svg { display: block; width: 100%; max-width: 34rem; height: auto; }
article { border-top: 1px solid var(--line); padding: 1rem 0; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr));
  gap: 1rem 2.5rem; align-items: start; }
h4 { margin-top: 0.5rem; }
ol { padding-left: 1.8rem; }
li { margin: 0.3rem 0; }
.place { display: inline-block; min-width: 1.6em; margin-right: 0.4em; padding: 0 0.3em;
  border: 1px solid; border-radius: 0.3em; text-align: center; font-size: 0.85em; }
.right { color: var(--right); }
.wrong { color: var(--wrong); font-weight: bold; }
@media print { figure, table, li { break-inside: avoid; } h2, h3, h4 { break-after: avoid; }
  .pair { grid-template-columns: 1fr 1fr; } }
"""

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<dl>{facts}</dl>
</header>
<main>
{sections}
</main>
</body>
</html>
"""


def evaluation_page(
    title: str,
    facts: Sequence[tuple[str, str]],
    metrics: Sequence[tuple[str, str, str, str]],
    predictions: Sequence[Prediction],
    held_out: Sequence[Prediction] = (),
) -> str:
    """The HTML page for a model's predictions.

    facts:    names and values for the head of the page, such as model, corpus and command.
    metrics:  rows of name, value, interval and meaning.
    held_out: predictions for validation documents, on which the temperature is fitted.

    Documents of one sentence are left out.
    """
    scored = _with_several_sentences(predictions)
    if not scored:
        raise UserError("cannot write a report: no document has more than one sentence")
    best, worst = best_and_worst(scored)
    sections = (
        _metrics(metrics),
        _lengths(figures.tau_by_length(scored)),
        _places(scored),
        _confidence(scored, _with_several_sentences(held_out)),
        _documents(f"Best documents ({len(best)})", best),
        _documents(f"Worst documents ({len(worst)})", worst),
    )
    return PAGE.format(
        title=_text(title),
        style=STYLE,
        facts="\n".join(f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in facts),
        sections="\n".join(sections),
    )


def best_and_worst(predictions: Sequence[Prediction]) -> tuple[list[Prediction], list[Prediction]]:
    """The ten documents with the highest tau and the ten with the lowest, or halves if fewer.

    Ties go to the higher confidence in both lists: a confident wrong order is worse.
    """

    def rank(one: Prediction, sign: int) -> tuple[float, float, str]:
        return sign * kendall_tau(*one.orders), -one.ordering.confidence, one.id

    ranking = sorted(predictions, key=lambda one: rank(one, -1))
    best = min(MAX_EXAMPLES, (len(ranking) + 1) // 2)
    return ranking[:best], sorted(ranking[best:], key=lambda one: rank(one, 1))[:MAX_EXAMPLES]


def _metrics(rows: Sequence[tuple[str, str, str, str]]) -> str:
    caption, head = "Averages over documents.", ("metric", "value", "95 % interval", "meaning")
    return f"<h2>Metrics</h2>\n{_table(caption, head, rows)}"


def _lengths(lengths: Sequence[figures.LengthGroup]) -> str:
    caption = "Mean τ by number of sentences, with its 95 % interval (Student’s)."
    head = ("sentences", "documents", "τ", "95 % interval")
    rows = [
        (str(one.n), str(one.documents), f"{one.tau:.3f}", _interval(one.interval))
        for one in lengths
    ]
    return f"""<h2>τ by number of sentences</h2>
<div class="pair">
{_figure(figures.tau_figure(lengths), caption)}
<details{" open" if len(rows) <= MAX_UNFOLDED_ROWS else ""}><summary>Values</summary>
{_table("Mean τ by number of sentences.", head, rows)}
</details>
</div>"""


def _interval(ends: tuple[float, float] | None) -> str:
    return f"{ends[0]:.3f} to {ends[1]:.3f}" if ends else "–"


def _places(predictions: Sequence[Prediction]) -> str:
    n = figures.most_frequent_length(predictions)
    by_tenth = """All documents. Each sentence covers an equal share of its text. A row shows where
the sentences of that tenth of the true text are predicted, in percent. Correct orders give a band
along the diagonal, as wide as a sentence; random orders give 10 everywhere."""
    by_place = f"""Documents with {n} sentences, the most frequent number. A row shows at which
places the sentence of that true place is predicted, in percent."""
    tenths, places = figures.position_shares(predictions), figures.place_shares(predictions, n)
    return f"""<h2>True place against predicted place</h2>
<div class="pair">
{_figure(figures.places_figure(tenths, "tenths", "tenth of the text"), by_tenth)}
{_figure(figures.places_figure(places, "places", "place"), by_place)}
</div>"""


def _confidence(predictions: Sequence[Prediction], held_out: Sequence[Prediction]) -> str:
    confidences, right = _confidences(predictions)
    before, after = calibration_bins(confidences, right), list[Bin]()
    note = "There are no validation documents, so no temperature could be fitted."
    rows = [("unscaled", *_calibration(before))]
    if held_out:
        fit = temperature(*_confidences(held_out))
        after = calibration_bins([apply_temperature(one, fit) for one in confidences], right)
        rows += [(f"with temperature {fit:.3f}", *_calibration(after))]
        note = f"""The temperature T is fitted so that confidence<sup>1/T</sup> best predicts
which of {len(held_out)} validation documents are ordered correctly."""
    caption = """Documents in ten bins of confidence. Top: the share of them whose whole order is
correct; the dotted line is perfect calibration. Bottom: the number of documents."""
    table_caption = f"{sum(right) / len(right):.2%} of the orders are correct. {note}"
    return f"""<h2>Confidence</h2>
<div class="pair">
{_figure(figures.calibration_figure(before, after), caption)}
{_table(table_caption, ("confidence", "mean", "expected calibration error"), rows)}
</div>"""


def _calibration(bins: Sequence[Bin]) -> tuple[str, str]:
    mean = sum(one.confidence * one.documents for one in bins) / sum(one.documents for one in bins)
    return f"{mean:.4f}", f"{expected_calibration_error(bins):.4f}"


def _confidences(predictions: Sequence[Prediction]) -> tuple[list[float], list[bool]]:
    """Each document's confidence, and whether its whole order is correct."""
    right = [predicted == true for predicted, true in (one.orders for one in predictions)]
    return [one.ordering.confidence for one in predictions], right


def _documents(title: str, predictions: Sequence[Prediction]) -> str:
    return "\n".join([f"<h2>{title}</h2>", *map(_document, predictions)])


def _document(one: Prediction) -> str:
    predicted, true = one.orders
    place, sentences = inverse(true), [f"<bdi>{_text(s)}</bdi>" for s in one.puzzle.sentences]
    items = [f"{_place(place[i], place[i] == k)}{sentences[i]}" for k, i in enumerate(predicted)]
    return f"""<article>
<h3>{_text(one.id)}</h3>
<p>τ {kendall_tau(predicted, true):.2f}, confidence {one.ordering.confidence:.3g}</p>
<div class="pair">
<section><h4>True order</h4>{_list(sentences[i] for i in true)}</section>
<section><h4>Predicted order, with true places</h4>{_list(items)}</section>
</div>
</article>"""


def _place(place: int, right: bool) -> str:
    return f'<span class="place {"right" if right else "wrong"}">{place + 1}</span>'


def _list(items: Iterable[str]) -> str:
    return f"<ol>{''.join(f'<li>{item}</li>' for item in items)}</ol>"


def _figure(svg: str, caption: str) -> str:
    return f"<figure>{svg}<figcaption>{caption}</figcaption></figure>"


def _table(caption: str, head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    names = "".join(f'<th scope="col">{_text(name)}</th>' for name in head)
    body = "\n".join(
        f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return f"""<table>
<caption>{caption}</caption>
<thead><tr>{names}</tr></thead>
<tbody>
{body}
</tbody>
</table>"""


def _with_several_sentences(predictions: Sequence[Prediction]) -> list[Prediction]:
    return [one for one in predictions if len(one.puzzle.sentences) > 1]


def _text(text: str) -> str:
    return escape(NOT_HTML.sub("\ufffd", text))
