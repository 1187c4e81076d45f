"""An evaluation as a page for a browser: one file, which fetches nothing and runs no script."""

import re
from collections.abc import Iterable, Sequence
from html import escape

from bert4so.document import inverse
from bert4so.errors import UserError
from bert4so.evaluation import figures
from bert4so.evaluation.calibration import (
    Bin,
    calibration_bins,
    expected_calibration_error,
    temperature,
    tempered,
)
from bert4so.evaluation.evaluate import Prediction
from bert4so.evaluation.metrics import kendall_tau

SHOWN = 10
"""How many of the best documents are shown, and of the worst."""

UNFOLDED = 12
"""The most rows that a table of lengths is shown with before it is asked for."""

NOT_HTML = re.compile("[\0-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
"""Characters that a page may not hold, halves of surrogate pairs among them."""

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
    solved: Sequence[Prediction],
    held_out: Sequence[Prediction] = (),
) -> str:
    """The page of what a backend made of some documents.

    facts:    name and value: what was measured, when, where, how.
    metrics:  name, value, interval, and what it means.
    held_out: validation documents, which a temperature for the confidences is fitted on.

    Documents of one sentence are not shown.
    """
    counted = _of_many(solved)
    if not counted:
        raise UserError("nothing to show: no document has more than one sentence")
    best, worst = best_and_worst(counted)
    sections = (
        _metrics(metrics),
        _lengths(figures.tau_by_length(counted)),
        _places(counted),
        _confidence(counted, _of_many(held_out)),
        _documents(f"Best documents ({len(best)})", best),
        _documents(f"Worst documents ({len(worst)})", worst),
    )
    return PAGE.format(
        title=_text(title),
        style=STYLE,
        facts="\n".join(f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in facts),
        sections="\n".join(sections),
    )


def best_and_worst(solved: Sequence[Prediction]) -> tuple[list[Prediction], list[Prediction]]:
    """Ten documents of the greatest tau and ten of the least, or halves where there are fewer.

    Of equal taus the surest come first, in both: to be sure of a wrong order is the worse.
    """

    def rank(one: Prediction, sign: int) -> tuple[float, float, str]:
        return sign * kendall_tau(*one.orders), -one.ordering.confidence, one.id

    ranking = sorted(solved, key=lambda one: rank(one, -1))
    best = min(SHOWN, (len(ranking) + 1) // 2)
    return ranking[:best], sorted(ranking[best:], key=lambda one: rank(one, 1))[:SHOWN]


def _metrics(rows: Sequence[tuple[str, str, str, str]]) -> str:
    caption, head = "Averages over documents.", ("metric", "value", "interval", "what it is")
    return f"<h2>Metrics</h2>\n{_table(caption, head, rows)}"


def _lengths(lengths: Sequence[figures.Length]) -> str:
    caption = "Mean τ of documents with equally many sentences, and its 95 % interval (Student’s)."
    head = ("sentences", "documents", "τ", "95 % interval")
    rows = [
        (str(one.n), str(one.documents), f"{one.tau:.3f}", _interval(one.interval))
        for one in lengths
    ]
    return f"""<h2>τ by number of sentences</h2>
<div class="pair">
{_figure(figures.tau_figure(lengths), caption)}
<details{" open" if len(rows) <= UNFOLDED else ""}><summary>In numbers</summary>
{_table("Mean τ by number of sentences.", head, rows)}
</details>
</div>"""


def _interval(ends: tuple[float, float] | None) -> str:
    return f"{ends[0]:.3f} to {ends[1]:.3f}" if ends else "–"


def _places(solved: Sequence[Prediction]) -> str:
    n = figures.usual_length(solved)
    by_tenth = """All documents, by tenths of the text, of which each sentence takes an equal share:
where each tenth of the true text (row) is read, in percent of the row. A right order is a band
along the diagonal, as wide as a sentence; an order by chance is 10 everywhere."""
    by_place = f"""Documents of {n} sentences, the most frequent number: at which place the sentence
of each true place (row) is read, in percent of the row."""
    return f"""<h2>True place against predicted place</h2>
<div class="pair">
{_figure(figures.places_figure(figures.tenths(solved), "tenths", "tenth of the text"), by_tenth)}
{_figure(figures.places_figure(figures.places(solved, n), "places", "place"), by_place)}
</div>"""


def _confidence(solved: Sequence[Prediction], held_out: Sequence[Prediction]) -> str:
    sure, right = _confidences(solved)
    before, after = calibration_bins(sure, right), list[Bin]()
    fitted = "There are no validation documents, so no temperature could be fitted."
    rows = [("as given", *_calibration(before))]
    if held_out:
        fit = temperature(*_confidences(held_out))
        after = calibration_bins([tempered(one, fit) for one in sure], right)
        rows += [(f"with temperature {fit:.3f}", *_calibration(after))]
        fitted = f"""The temperature T is the one for which confidence<sup>1/T</sup> best tells
which of {len(held_out)} validation documents are exactly right."""
    caption = """Documents in ten bins of confidence. Above: the share of them whose whole order is
right; on the dotted line, confidence is what it says. Below: how many they are."""
    told = f"{sum(right) / len(right):.2%} of the orders are exactly right. {fitted}"
    return f"""<h2>Confidence</h2>
<div class="pair">
{_figure(figures.calibration_figure(before, after), caption)}
{_table(told, ("confidence", "mean", "expected calibration error"), rows)}
</div>"""


def _calibration(bins: Sequence[Bin]) -> tuple[str, str]:
    mean = sum(one.confidence * one.documents for one in bins) / sum(one.documents for one in bins)
    return f"{mean:.4f}", f"{expected_calibration_error(bins):.4f}"


def _confidences(solved: Sequence[Prediction]) -> tuple[list[float], list[bool]]:
    """Each document's confidence, and whether its order is exactly right."""
    orders = [one.orders for one in solved]
    return [one.ordering.confidence for one in solved], [found == true for found, true in orders]


def _documents(title: str, solved: Sequence[Prediction]) -> str:
    return "\n".join([f"<h2>{title}</h2>", *map(_document, solved)])


def _document(one: Prediction) -> str:
    predicted, true = one.orders
    place, sentences = inverse(true), [f"<bdi>{_text(s)}</bdi>" for s in one.puzzle.sentences]
    found = [f"{_place(place[i], place[i] == k)}{sentences[i]}" for k, i in enumerate(predicted)]
    return f"""<article>
<h3>{_text(one.id)}</h3>
<p>τ {kendall_tau(predicted, true):.2f}, confidence {one.ordering.confidence:.3g}</p>
<div class="pair">
<section><h4>True order</h4>{_list(sentences[i] for i in true)}</section>
<section><h4>Order found, each sentence with its true place</h4>{_list(found)}</section>
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


def _of_many(solved: Sequence[Prediction]) -> list[Prediction]:
    return [one for one in solved if len(one.puzzle.sentences) > 1]


def _text(text: str) -> str:
    return escape(NOT_HTML.sub("\ufffd", text))
