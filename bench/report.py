# SPDX-License-Identifier: Apache-2.0
"""Plain-text tables of medians over rounds."""

import statistics


def median(values):
    values = [v for v in values if v is not None]
    return statistics.median(values) if values else None


def ratios(numerators, denominators):
    """Round by round, so that what slows the machine in one round slows both sides of it."""
    return [a / b for a, b in zip(numerators, denominators) if a is not None and b]


def plain(value, digits=2):
    if value is None:
        return "-"
    return f"{value:,.{digits}f}"


def with_range(values, digits=2):
    values = [v for v in values if v is not None]
    if not values:
        return "-"
    middle, low, high = (plain(v, digits) for v in (median(values), min(values), max(values)))
    return f"{middle} ({low}..{high})" if len(values) > 1 else middle


def table(title, header, rows):
    """Text of one table: the first column to the left, the others to the right."""
    widths = [max(len(str(row[i])) for row in [header, *rows]) for i in range(len(header))]
    lines = [title]
    for row in [header, *rows]:
        cells = [str(c).ljust(w) if i == 0 else str(c).rjust(w)
                 for i, (c, w) in enumerate(zip(row, widths))]
        lines.append("  " + "  ".join(cells).rstrip())
    return "\n".join(lines) + "\n"
