"""Measure the keyword detector alone.

Three tables: its time for prompts of real length (those of tests/data/intent, put together), its time for what could take
superlinear time, and what the first detection of a process costs, imports included, beside what `re` and re2 would take to
look for the same patterns once. Times are in milliseconds of this machine.

With --assert it fails when the 99th percentile is above 3 ms for 2,000 characters or above 10 ms for a million, when a hard
prompt of a million characters takes more than 10 ms, or when its time grows much faster than its length.
"""

import argparse
import gc
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import re2  # imported to tell the processes below where it is

from subcog_hooks.intent import keywords
from subcog_hooks.text import vocabulary

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

OWN = os.path.join(ROOT, "tests", "data", "intent", "prompts.jsonl")

SEED = 20_260_301
MILLION = 1_000_000
LENGTHS = {100: 400, 500: 400, 2_000: 400, MILLION: 40}  # characters: different prompts
ROUNDS = 5  # each prompt is read so often
PROCESSES = 25  # fresh ones, of each way, in turn

MOST_MS = {2_000: 3.0, MILLION: 10.0}  # 99th percentile
MOST_GROWTH = 3.0  # of the time, when the length doubles; 2 is linear
NOISE_MS = 2.0  # below it growth is not judged

HARD: dict[str, Callable[[int], str]] = {  # what could take a superlinear reader's time, of so many characters
    "fences": lambda size: "```\n" * (size // 4),
    "open elements": lambda size: "<ide_selection>" * (size // 15),
    "empty elements": lambda size: "<ide_selection></ide_selection>" * (size // 31),
    "quotes": lambda size: "\u201c" * size,
    "@": lambda size: "@" * size,
    "one long word": lambda size: "x" * size,
    "one long line": lambda size: "why does it fail " * (size // 17),
    "newlines": lambda size: "\n" * size,
    "newlines inside": lambda size: f"a{chr(10) * (size - 2)}b",
    "short lines": lambda size: "a\n" * (size // 2),
    "short lines of code": lambda size: "a;\n" * (size // 3),
    "combining letters": lambda size: "e" + "\u0301" * (size - 1),
    "letters to compose": lambda size: "e\u0301\u0323" * (size // 3),
    "heads": lambda size: "please can you " * (size // 15),
    "gaps": lambda size: "not which or if why " * (size // 20),
    "stand-ins": lambda size: "[image #1]" * (size // 10),
    "addresses": lambda size: "https://" * (size // 8),
    "surrogates": lambda size: "\ud83d" * size,
}

FIRST = """
import sys, time
sys.path[:0] = {path!r}
with open({file!r}, encoding="utf-8") as file:
    prompt, *patterns = file.read().split("\\n")
was_there = "re" in sys.modules
began = time.perf_counter()
{work}
print((time.perf_counter() - began) * 1000.0, was_there)
"""
OURS = "from subcog_hooks.intent.keywords import read_prompt\nread_prompt(prompt)"
BY_RE = "import re\nre.compile('|'.join(patterns)).search(prompt)"
BY_RE2 = """import re2
found = re2.Set.SearchSet()
for pattern in patterns:
    found.Add(pattern)
found.Compile()
found.Match(prompt)"""


class Times(NamedTuple):
    """Of many prompts, in milliseconds: median and p99 of each prompt's least time, and the longest that one has ever taken."""

    median: float
    p99: float
    longest: float


def times(prompts: Sequence[str], rounds: int) -> Times:
    """Time the detector. The least of a prompt's times is its own: the rest is what else runs on the machine."""
    least = [math.inf] * len(prompts)
    longest = 0.0
    for _ in range(rounds):
        for place, prompt in enumerate(prompts):
            began = time.perf_counter()
            keywords.read_prompt(prompt)
            taken = (time.perf_counter() - began) * 1000.0
            least[place] = min(least[place], taken)
            longest = max(longest, taken)
    least.sort()
    return Times(statistics.median(least), least[math.ceil(0.99 * len(least)) - 1], longest)


def put_together(prompts: Sequence[str], length: int, count: int) -> Iterator[str]:
    """Make `count` prompts of `length` characters, each from other prompts in another order; the same at every run."""
    chance = random.Random(SEED)
    for _ in range(count):
        parts: list[str] = []
        size = 0
        while size < length:
            parts.append(chance.choice(prompts))
            size += len(parts[-1]) + 1
        yield "\n".join(parts)[:length]


def expression(pattern: str) -> str:
    """Return a regular expression for a pattern of the table, over words with one blank between, without `<9`."""
    parts = []
    for part in pattern.split():
        if part[0] == "<" and part[1:].isdigit():
            continue
        if part == "..":
            parts.append("(?:[^ .?]+ ){0,4}")
            continue
        choices = part.removeprefix("^").split("|")
        members = (vocabulary.CLASSES[choice[1:]] if choice[0] == "@" else [choice] for choice in choices)
        words = sorted({word for several in members for word in several})
        head = "(?:^|[.?] )" if part[0] == "^" else "\\b"
        parts.append(f"{head if part[0] == '^' or not parts else ''}(?:{'|'.join(map(escaped, words))}) ?")
    return "".join(parts)


def escaped(word: str) -> str:
    return "".join(letter if letter.isalnum() else f"\\{letter}" for letter in word)


def first_detections(prompt: str) -> dict[str, float]:
    """Time the first look for the table's signals in a fresh process, by the way it is done: medians."""
    ways = {
        "ours": OURS,
        "re, one alternation": BY_RE,
        "re2.Set": BY_RE2,
        "nothing but import re": "import re",
        "nothing but import re2": "import re2",
    }
    path = [ROOT, os.path.dirname(os.path.dirname(re2.__file__))]
    found: dict[str, list[float]] = {name: [] for name in ways}
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "patterns")
        with open(file, "w", encoding="utf-8") as opened:
            opened.write("\n".join([prompt, *(expression(row[0]) for row in keywords.SIGNALS)]))
        for number in range(PROCESSES + 1):
            for name, work in ways.items():
                code = FIRST.format(path=path, file=file, work=work)
                answer = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
                ms, was_there = answer.stdout.split()
                if was_there == "True":
                    sys.exit("scripts.bench.intent: the interpreter imports re by itself, so its cost can not be told")
                if number:  # the first writes bytecode
                    found[name].append(float(ms))
    return {name: statistics.median(values) for name, values in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.bench.intent", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--assert", action="store_true", dest="judge", help="fail when something takes too long")
    options = parser.parse_args()
    with open(OWN, encoding="utf-8") as file:
        own = [json.loads(line)["prompt"] for line in file]
    keywords.read_prompt(own[0])
    gc.freeze()  # what this script has loaded is none of the detector's
    faults = []

    print(f"{'characters':>24}   median      p99  longest")
    for length, count in LENGTHS.items():
        of = times(list(put_together(own, length, count)), ROUNDS)
        print(f"{length:>24,} {of.median:8.2f} {of.p99:8.2f} {of.longest:8.2f}")
        if of.p99 > MOST_MS.get(length, of.p99):
            faults.append(f"{length:,} characters: p99 is {of.p99:.2f} ms, expected at most {MOST_MS[length]:g}")

    print(f"\n{'a million characters of':>24}   median  longest   at half the length")
    for name, of_size in HARD.items():
        whole, half = times([of_size(MILLION)], 2 * ROUNDS), times([of_size(MILLION // 2)], 2 * ROUNDS)
        print(f"{name:>24} {whole.median:8.2f} {whole.longest:8.2f} {half.median:8.2f}")
        if whole.median > MOST_MS[MILLION]:
            faults.append(f"{name}: {whole.median:.2f} ms, expected at most {MOST_MS[MILLION]:g}")
        if whole.median > max(NOISE_MS, MOST_GROWTH * half.median):
            faults.append(f"{name}: from {half.median:.2f} to {whole.median:.2f} ms when the length doubles")

    prompt = "why does the webhook gateway still fail, where do we set the timeout, and how do we rotate its keys ?"
    print(f"\n{'first in a process, by':>24}   median")
    for name, ms in first_detections(prompt).items():
        print(f"{name:>24} {ms:8.2f}")

    if options.judge and faults:
        sys.exit("\n".join(f"scripts.bench.intent: {fault}" for fault in faults))


if __name__ == "__main__":
    main()
