"""A table as data, and as Markdown and LaTeX."""

from collections.abc import Sequence
from dataclasses import dataclass, field

MARKS = {"†": r"$^\dag$", "‡": r"$^\ddag$", "▲": r"$^\blacktriangle$"}
"""Significance marks in LaTeX."""

SPECIAL = {
    "<": "$<$",
    "%": r"\%",
    "&": r"\&",
    "_": r"\_",
    "#": r"\#",
    "τ": r"$\tau$",
    "γ": r"$\gamma$",
} | {
    "×": r"$\times$",
    "±": r"$\pm$",
    "–": "--",
    "`": "",
    **MARKS,
}
"""Other characters that LaTeX writes differently."""


MAX_UNSCALED_COLUMNS = 6
"""Tables with more columns are scaled to the width of the page."""


@dataclass(frozen=True)
class Number:
    """A number and its format.

    form:   format string, such as "{:.4f}".
    spread: standard deviation, if the number is a mean over several runs.
    """

    value: float
    form: str
    spread: float | None = None

    def __str__(self) -> str:
        text = self.form.format(self.value)
        return text if self.spread is None else f"{text} ± {self.form.format(self.spread)}"


@dataclass(frozen=True)
class Entry:
    """One entry of a table.

    own:   the number measured here; None if there is none.
    mark:  significance mark.
    best:  whether it is the best of its column.
    paper: the number in the paper.
    """

    own: Number | None = None
    mark: str = ""
    best: bool = False
    paper: Number | None = None

    @property
    def text(self) -> str:
        """The number as text."""
        return "–" if self.own is None else str(self.own)

    def markdown(self) -> str:
        """The entry in Markdown; the paper's number is in brackets."""
        own = f"**{self.text}**" if self.best else self.text
        return f"{own}{self.mark}" + (f" ({self.paper})" if self.paper else "")

    def latex(self) -> str:
        """The entry in LaTeX; the paper's number follows in small print."""
        text = escaped(self.text)
        own = rf"\textbf{{{text}}}" if self.best else text
        paper = rf" {{\scriptsize ({escaped(str(self.paper))})}}" if self.paper else ""
        return f"{own}{MARKS.get(self.mark, '')}{paper}"


MISSING = Entry()
"""The entry of a cell that has not been run."""


@dataclass(frozen=True)
class Table:
    """A table.

    groups: columns after the first, grouped under common headings.
    rows:   name and entries of each row.
    ruled:  indices of the rows with a line above them.
    notes:  paragraphs below the table.
    corner: heading of the row names, if they do not explain themselves.
    axis:   label of the figure's axis, if the columns do not explain themselves.
    """

    name: str
    caption: str
    groups: Sequence[tuple[str, Sequence[str]]]
    rows: Sequence[tuple[str, Sequence[Entry]]]
    ruled: Sequence[int] = ()
    notes: Sequence[str] = field(default_factory=list)
    corner: str = ""
    axis: str = ""

    def markdown(self) -> str:
        """The table in Markdown, with its caption above and its notes below."""
        heads = [
            f"{group} {column}".strip() for group, columns in self.groups for column in columns
        ]
        lines = [[self.corner, *heads], ["---"] * (1 + len(heads))]
        lines += [[name, *(entry.markdown() for entry in row)] for name, row in self.rows]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return "\n\n".join([self.caption, table, *self.notes]) + "\n"

    def latex(self) -> str:
        """The table in LaTeX, with booktabs as in the paper."""
        columns = [column for _, names in self.groups for column in names]
        wide = len(columns) > MAX_UNSCALED_COLUMNS
        body = [
            (r"    \midrule" + "\n" if number in self.ruled else "")
            + _line([escaped(name), *(entry.latex() for entry in row)])
            for number, (name, row) in enumerate(self.rows)
        ]
        return "\n".join(
            [
                r"% \usepackage{booktabs,amssymb,graphicx}",
                r"\begin{table*}[t]",
                r"    \centering",
                r"    \small",
                r"    \setlength{\tabcolsep}{0.15cm}",
                *([r"    \resizebox{\textwidth}{!}{%"] if wide else []),
                rf"    \begin{{tabular}}{{l{'c' * len(columns)}}}",
                r"    \toprule",
                *self._heads(),
                _line([escaped(self.corner), *map(escaped, columns)]),
                r"    \midrule",
                *body,
                r"    \bottomrule",
                r"    \end{tabular}" + "}" * wide,
                rf"    \caption{{{escaped(' '.join([self.caption, *self.notes]))}}}",
                rf"    \label{{tab:{self.name}}}",
                r"\end{table*}",
                "",
            ]
        )

    def _heads(self) -> list[str]:
        """The group headings, with a rule under each."""
        if not any(group for group, _ in self.groups):
            return []
        heads, rules, first = [""], [], 2
        for group, columns in self.groups:
            heads.append(rf"\multicolumn{{{len(columns)}}}{{c}}{{{escaped(group)}}}")
            last = first + len(columns) - 1
            rules += [rf"\cmidrule(lr){{{first}-{last}}}"] if group else []
            first = last + 1
        return [_line(heads), f"    {' '.join(rules)}"]


def escaped(text: str) -> str:
    """Escape a text for LaTeX."""
    return "".join(SPECIAL.get(character, character) for character in text)


def _line(cells: Sequence[str]) -> str:
    return f"        {' & '.join(cells)} \\\\"
