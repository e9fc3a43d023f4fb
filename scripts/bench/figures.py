"""Turn measured values into figures, figures into tables, rows into JSONL, and a command line's text into sizes."""

import argparse
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence


def parse_positive(text: str) -> int:
    if not text.strip().isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


def parse_sizes(text: str) -> list[int]:
    return [parse_positive(part) for part in text.split(",")]


def mib(max_rss: int) -> float:
    """Return MiB; ru_maxrss is bytes on macOS and KiB elsewhere."""
    return max_rss / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def mib_on_disk(folder: str) -> float:
    files = (os.path.join(parent, name) for parent, _, names in os.walk(folder) for name in names)
    return sum(os.lstat(file).st_size for file in files) / (1 << 20)


def quantile(values: Sequence[float], share: float) -> float:
    """Return the quantile of `values`, interpolated between the two nearest."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def align(rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def write_rows(path: str, rows: Iterable[Mapping[str, object]]) -> None:
    """Write a JSONL file."""
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
