"""Fit the weights for prompts in other languages than English (FOREIGN in subcog_hooks/recall/relevance.tsv), and judge them.

The prompts are headings of manuals in eight languages (scripts/relevance/manuals.py), each asked twice: with its section among
the memories, and as if that were not there. They are asked of English sections (`across`), and of sets of 40
sections in their own language (`native`), where headings of other manuals are asked too, which nothing there answers. Judged by
cross-validation over manuals.

The first run fetches 55 MB and embeds 1,400 English sections: some minutes. Example:
python -m scripts.relevance.fit_foreign --write
"""

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from scripts.relevance import logistic, manuals
from scripts.relevance.evidence import Case, Rows, Shelf
from scripts.relevance.fit import INTERCEPT, ROOT, write_column
from scripts.relevance.manuals import ENGLISH, LANGUAGES, Manual, Section
from subcog_hooks.recall import relevance
from subcog_hooks.text.languages import is_foreign
from tests.eval.homes import home_of

PULL = 2.0  # of a weight towards 0
LOWERED = 0.5  # of the intercept: chosen on prompts as people type them
CHRONICLE = "chronicle"  # The manuals have no change logs: its weight is that of English prompts.
NAMES = tuple(name for name in relevance.FOREIGN if name not in {relevance.FOREIGN_INTERCEPT, CHRONICLE, *relevance.UNFITTED})
PROMPTS = 45  # of a manual in a language, asked of the English sections
SECTIONS, SETS = 40, 3  # of a set; sets of a manual in a language
ASKED, UNRELATED, SAME_MANUAL = 20, 12, 8  # prompts to a set: answered there, of other manuals, of the same manual
SHORTEST = {"ja": 6, "zh": 6, "ko": 6}  # characters of a heading
USUAL_SHORTEST = 14
APART = ("gnome",)  # manuals on another matter than the rest: asked of them, prompts of the others are unrelated
ACROSS, NATIVE = "across", "native"

Asked = tuple[Path, list[Case]]


def asked(read: dict[str, Manual], folder: Path) -> Iterator[Asked]:
    """Yield all sets of memories with the prompts to each."""
    lot = random.Random(7)
    yield _across(read, APART, folder, lot)
    yield _across(read, tuple(name for name in read if name not in APART), folder, lot)
    for language in LANGUAGES:
        for name, manual in read.items():
            others = [section for other, sections in read.items() if other != name for section in sections.values()]
            strangers = [section[language].heading for section in others if _is_prompt(section, language)]
            keys = [key for key, sections in manual.items() if _is_prompt(sections, language)]
            lot.shuffle(keys)
            for number in range(min(SETS, len(keys) // SECTIONS)):
                chosen = keys[number * SECTIONS : (number + 1) * SECTIONS]
                left = [key for key in keys if key not in chosen][:SAME_MANUAL]
                texts = {_id(name, key): _text(manual[key][language], is_short=bool(number % 2)) for key in chosen}
                cases = [
                    case
                    for key in lot.sample(chosen, ASKED)
                    for case in _twice(Case(manual[key][language].heading, frozenset({_id(name, key)}), name, NATIVE))
                ]
                headings = [manual[key][language].heading for key in left]
                headings += lot.sample(strangers, min(UNRELATED, len(strangers)))
                cases += [Case(heading, frozenset(), name, NATIVE) for heading in headings]
                yield _write(folder / f"{language}-{name}-{number}", texts), cases


def _across(read: dict[str, Manual], names: Sequence[str], folder: Path, lot: random.Random) -> Asked:
    """Return the English sections of some manuals, with prompts of all."""
    texts: dict[str, str] = {}
    cases: list[Case] = []
    for name, manual in read.items():
        english = {key: sections for key, sections in manual.items() if ENGLISH in sections}
        if name in names:
            texts |= {_id(name, key): _text(sections[ENGLISH], is_short=False) for key, sections in english.items()}
        for language in LANGUAGES:
            keys = [key for key, sections in english.items() if _is_prompt(sections, language)]
            for key in lot.sample(keys, min(PROMPTS, len(keys))):
                case = Case(english[key][language].heading, frozenset({_id(name, key)}), name, ACROSS)
                cases += _twice(case) if name in names else [case._replace(relevant=frozenset())]
    return _write(folder / f"{ACROSS}-{names[0]}", texts), cases


def _id(manual: str, key: str) -> str:
    return f"{manual}-{key}".replace("#", "-").replace(".", "-")


def _is_prompt(sections: dict[str, Section], language: str) -> bool:
    """Return whether a section is there in a language, with a heading that may be asked."""
    section = sections.get(language)
    if section is None or not is_foreign(section.body):
        return False
    return len(section.heading) >= SHORTEST.get(language, USUAL_SHORTEST)


def _text(section: Section, *, is_short: bool) -> str:
    """Return a section as a memory: as short as people's notes, or whole."""
    return (section.summary or section.body[:300]) if is_short else section.body


def _twice(case: Case) -> list[Case]:
    return [case, case._replace(is_missing=True)]


def _write(folder: Path, texts: dict[str, str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "memories.jsonl"
    rows = (json.dumps({"id": id_, "content": text}, ensure_ascii=False) for id_, text in texts.items())
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def gather(sets: Iterator[Asked], homes: Path) -> Rows:
    """Collect the candidates of all prompts."""
    rows = Rows(NAMES)
    for memories, cases in sets:
        with Shelf(home_of(memories, homes)) as shelf:
            print(f"{memories.parent.name}: {len(cases)} prompts", flush=True)
            for case in cases:
                hits = shelf.hits(case, by_meaning=True)
                rows.add(case, [hit for hit in hits if relevance.model_weights(hit.terms) is relevance.FOREIGN])
    return rows


def main() -> None:
    program, as_it_stands = "python -m scripts.relevance.fit_foreign", argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog=program, description=__doc__, formatter_class=as_it_stands)
    parser.add_argument("--cache", type=Path, default=Path(ROOT) / ".cache" / "relevance", help="(.cache/relevance)")
    parser.add_argument("--write", action="store_true", help="put the weights into subcog_hooks/recall/relevance.tsv")
    options = parser.parse_args()
    read = manuals.read_manuals(str(options.cache / "manuals"))
    rows = gather(asked(read, options.cache / "foreign"), options.cache / "homes")
    values, answers, sources = rows.values(), rows.answers(), np.array(rows.sources())
    weights = np.ones(len(answers))
    print(f"{len(answers):,} candidates of {len(rows.cases):,} prompts, {answers.sum():,} of them answers")
    probable = logistic.cross_validated(values, answers, weights, rows.owners(), PULL)
    for source in (ACROSS, NATIVE):
        chosen = sources == source
        loss = logistic.log_loss(probable[chosen], answers[chosen], weights[chosen])
        error = logistic.calibration_error(probable[chosen], answers[chosen], weights[chosen])
        print(f"{source}: log loss {loss:.4f}, calibration error {error:.4f}, by cross-validation over manuals")
    model = logistic.fit(values, answers, weights, PULL)
    fitted = dict(zip(NAMES, model.coefficients.tolist(), strict=True))
    for name, size in zip(NAMES, model.sizes, strict=True):
        print(f"{name:16}{relevance.FOREIGN[name]:9.3f}{fitted[name]:9.3f}{size:9.3f}")
    print(f"{INTERCEPT:16}{relevance.FOREIGN[relevance.FOREIGN_INTERCEPT]:9.3f}{model.intercept:9.3f}")
    if options.write:
        write_column("FOREIGN", {relevance.FOREIGN_INTERCEPT: model.intercept - LOWERED, **fitted})


if __name__ == "__main__":
    main()
