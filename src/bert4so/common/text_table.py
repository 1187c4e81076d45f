"""Align rows of text in columns, for a terminal."""

from collections.abc import Collection, Sequence


def format_columns(rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> str:
    """Format one line per row; columns in `left` are left-aligned, the others right-aligned."""
    columns = max(map(len, rows))
    full = [[*row, *[""] * (columns - len(row))] for row in rows]
    widths = [max(len(row[k]) for row in full) for k in range(columns)]
    lines = []
    for row in full:
        cells = (
            cell.ljust(width) if k in left else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join(cells).rstrip() + "\n")
    return "".join(lines)
