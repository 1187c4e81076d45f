"""Draw order.svg, a story before and after `bert4so order`: python docs/figures/order.py."""

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from bert4so import Orderer

FOLDER = Path(__file__).parent
STORY = FOLDER.parents[1] / "examples" / "story.txt"

# Pixels.
WIDTH, BOX, ROW, HEIGHT, TOP = 880, 365, 46, 34, 34

COLORS = ("#1b6ca8", "#2a7f62", "#8a6a14", "#b0502a", "#96406f", "#5b54a4", "#5f6470")
"""By place in the order found; white text is readable on all of them."""

GREY = "#7d8590"
"""Readable on a light page and on a dark one, as the boxes are: the figure has no background."""


def figure(sentences: Sequence[str], order: Sequence[int]) -> str:
    """The SVG: the sentences as given on the left, in the order found on the right."""
    height = TOP + ROW * len(sentences)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" font-family="system-ui, sans-serif" font-size="14">',
        "<title>A story before and after bert4so order</title>",
        _heading(0, "as given"),
        _heading(WIDTH - BOX, "bert4so order"),
        *_links(order),
        *(
            _box(x, row, sentences[i], COLORS[order.index(i) % len(COLORS)])
            for x, column in ((0, range(len(order))), (WIDTH - BOX, order))
            for row, i in enumerate(column)
        ),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _heading(x: int, text: str) -> str:
    return f'<text x="{x + 2}" y="18" fill="{GREY}">{escape(text)}</text>'


def _links(order: Sequence[int]) -> Iterator[str]:
    left, right = BOX, WIDTH - BOX
    middle = (left + right) // 2
    for place, i in enumerate(order):
        start, end = (TOP + ROW * row + HEIGHT // 2 for row in (i, place))
        yield (
            f'<path d="M{left} {start} C{middle} {start} {middle} {end} {right} {end}" '
            f'fill="none" stroke="{COLORS[place % len(COLORS)]}" stroke-width="3"/>'
        )


def _box(x: int, row: int, sentence: str, color: str) -> str:
    y = TOP + ROW * row
    return (
        f'<rect x="{x}" y="{y}" width="{BOX}" height="{HEIGHT}" rx="6" fill="{color}"/>'
        f'<text x="{x + 12}" y="{y + 22}" fill="#fff">{escape(sentence)}</text>'
    )


def story() -> str:
    """The figure of `examples/story.txt`, ordered by the bundled model."""
    sentences = STORY.read_text(encoding="utf-8").splitlines()
    return figure(sentences, Orderer.from_pretrained().order(sentences).order)


if __name__ == "__main__":
    (FOLDER / "order.svg").write_text(story(), encoding="utf-8")
