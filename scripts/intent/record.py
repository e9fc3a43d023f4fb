"""Record what a language model answers about labelled prompts, once: one line of JSON a prompt, for scripts.intent.hybrid.

The model is that of llm.provider in the settings of the home (SUBCOG_HOME), with its key and address. It is asked exactly what
the hook asks, one prompt after the other, without the hook's deadline; what each answer took is recorded, so that a deadline
can be applied later. A prompt that may hold a secret is not sent. Prompts whose answers are in the file already are passed
over: a run that was stopped goes on where it ended.

The labelled prompts are JSON lines with `id` and `prompt`. A line of the answers is {"id", "model", "answer", "seconds"}, or
has "error" where there is no answer. Nobody's words but the model's are in it.

Example: python -m scripts.intent.record tests/data/intent/prompts.jsonl answers.jsonl --limit 100
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any  # of JSON

from subcog_hooks.core.errors import ProviderError, SubcogError
from subcog_hooks.core.paths import Home
from subcog_hooks.intent import classifier
from subcog_hooks.llm import disclosure, providers
from subcog_hooks.llm.providers import Provider
from subcog_hooks.settings import loading
from subcog_hooks.text.typed_prompt import ends_of

ASK_S = 60.0  # for one answer
MOST_FAILURES = 5  # one after the other: then nobody is there


def recorded(answers: Path) -> set[str]:
    """Return the ids of the prompts that were answered. What failed is asked about again."""
    if not answers.is_file():
        return set()
    return {str(line["id"]) for line in lines_of(answers) if "answer" in line}


def lines_of(answers: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of a file of answers, but half ones, as a run that was killed leaves them."""
    for line in answers.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue


def rows_to_ask(prompts: Path, answers: Path) -> Iterator[dict[str, Any]]:
    """Yield the labelled prompts that have no answer yet."""
    known = recorded(answers)
    for line in prompts.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if str(row["id"]) not in known:
            yield row


def answer_to(row: dict[str, Any], provider: Provider) -> dict[str, object]:
    """Return the line of a prompt: what the model answers, and how many seconds that took."""
    line: dict[str, object] = {"id": row["id"], "model": f"{provider.name} {provider.model}"}
    asked = disclosure.disclosable_text(row["prompt"])
    if asked is None:
        return line | {"error": "may hold a secret"}
    started = time.monotonic()
    try:
        text = providers.ask_provider(provider, classifier.build_question(ends_of(asked)), ASK_S)
    except ProviderError as error:
        return line | {"error": error.message}
    answer = classifier.parse_answer(text)
    if answer is None:
        return line | {"error": "answered in another form"}
    return line | {"answer": json.loads(classifier.answer_to_text(answer)), "seconds": round(time.monotonic() - started, 3)}


def record(prompts: Path, answers: Path, provider: Provider, limit: int) -> tuple[int, int]:
    """Append the answers to the file, and return how many prompts were asked about, and how many have an answer."""
    asked = answered = in_a_row = 0
    is_half = answers.is_file() and answers.read_bytes()[-1:] not in (b"", b"\n")
    with answers.open("a", encoding="utf-8") as out:
        out.write("\n" * is_half)
        for row in rows_to_ask(prompts, answers):
            if asked == limit or in_a_row == MOST_FAILURES:
                break
            line = answer_to(row, provider)
            out.write(json.dumps(line, ensure_ascii=False) + "\n")
            out.flush()
            asked += 1
            answered += "answer" in line
            in_a_row = 0 if "answer" in line else in_a_row + 1
    return asked, answered


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.intent.record", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("prompts", type=Path, help="labelled prompts, JSON lines")
    parser.add_argument("answers", type=Path, help="the file to which the answers are added")
    parser.add_argument("--limit", type=int, default=-1, metavar="NUMBER", help="at most so many prompts (all)")
    options = parser.parse_args()
    home = Home.find()
    try:
        provider = providers.provider_of(loading.load(home), home)
    except SubcogError as error:
        sys.exit(f"{parser.prog}: {error}")
    if provider is None:
        sys.exit(f"{parser.prog}: llm.provider is none; choose one: subcog config set llm.provider openai")
    asked, answered = record(options.prompts, options.answers, provider, options.limit)
    print(f"{provider.name} ({provider.model}): asked about {asked}, {answered} answered")


if __name__ == "__main__":
    main()
