"""Make the memories that speed is measured on: synthetic, in words that follow Zipf's law, the same in every run."""

import hashlib
import json
import random
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain, islice

from scripts.bench.figures import write_rows
from scripts.bench.machine import Failed, Subcog

PROJECTS = 20
SEED = 20_260_301
ALIKE = 100  # memories that stand for all when a kept store is looked for
WORDS_EACH = 40  # of a memory, about
VOCABULARY = 6_000  # made-up words, beside the common ones
COMMONEST = 60  # words, which stand in no identifier and no trigger
IDENTIFIERS = 3_000
ZIPF_SHIFT = 2.7  # Mandelbrot's: flattens the head as in real text
NAMESPACES = ("decisions", "patterns", "learnings", "context", "tech-debt", "config", "apis", "testing", "performance")
TARGET_ID = "bench-target"
TARGET = (
    "The webhook gateway rotates its signing keys on the first Monday of a month; the schedule is in ops/rotation.yaml "
    "and the previous key stays valid for 36 hours, so that slow partners can follow."
)
TARGET_PATHS = ["ops/rotation/**"]
SEARCH = ("webhook", "gateway", "signing", "keys", "rotation")
EDITED = 1_500  # characters that an edit writes, about
COMMON = """
the of to a and in is for that it with on as by be are this from at or an not was when have has we if but can which all
only one will after before because so than then there their no more does its into two them other new used use each
cache database migration request response endpoint query index table column schema transaction lock timeout retry queue
worker thread process memory session token cookie header payload webhook gateway key keys signing rotate client server
deploy release branch commit merge review pipeline build test fixture mock coverage flaky error exception traceback log
metric alert dashboard config setting flag environment variable secret container image cluster node pod service proxy
module package import function method class type field parameter argument return value default string number list object
file folder path directory script command option output input stream buffer byte encoding format parser validate render
component page button form style theme layout route state store hook event handler callback promise async await
user account role permission login password email invoice payment order customer product price currency report export
fast slow large small first last old current previous next wrong valid invalid missing empty open closed public private
""".split()


def likeness() -> str:
    """Return what tells apart stores whose memories were generated differently."""
    first = json.dumps(list(islice(make_memories(ALIKE), ALIKE)))
    return hashlib.sha256(first.encode()).hexdigest()[:8]


def project_name(number: int) -> str:
    return f"git.example.com/team/project-{number:02}"


def write_memories(path: str, size: int) -> None:
    """Write a JSONL file of `size` memories: TARGET in the middle, the same others in every run."""
    target: dict[str, object] = {"id": TARGET_ID, "content": TARGET, "namespace": "decisions", "project": project_name(0)}
    target["paths"] = TARGET_PATHS
    target["created_at"] = "2026-03-02T10:00:00Z"
    others = make_memories(size - 1)
    memories = chain(islice(others, size // 2), [target], others)
    write_rows(path, memories)


def make_memories(count: int) -> Iterator[dict[str, object]]:
    """Yield memories of PROJECTS projects and the user, whose words follow Zipf's law."""
    chance = random.Random(SEED)
    words = _vocabulary(chance)
    identifiers = _identifiers(chance, words)
    word, identifier = _zipfian(chance, words), _zipfian(chance, identifiers)
    for number in range(count):
        length = max(8, round(chance.gauss(WORDS_EACH, WORDS_EACH / 4)))
        body = [identifier() if chance.random() < 0.08 else word() for _ in range(length)]
        for at in range(9, length, 11):
            body[at] += "."
        memory: dict[str, object] = {
            "id": f"bench-{number:07}",
            "content": " ".join(body).capitalize().rstrip(".") + ".",
            "namespace": chance.choice(NAMESPACES),
            "created_at": f"2026-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}T{chance.randint(0, 23):02}:00:00Z",
        }
        owner = chance.randrange(PROJECTS + 3)  # the user's own are some more than a project's
        if owner < PROJECTS:
            memory["project"] = project_name(owner)
        if chance.random() < 0.3:
            memory["tags"] = sorted({word() for _ in range(2)})
        if number % 20 != 19:  # the others may be in a brief
            memory["triggers"] = [_trigger(chance, words)]
        if number % 10 == 0:
            memory["paths"] = [_glob(chance, words)]
        yield memory


def _trigger(chance: random.Random, words: Sequence[str]) -> str:
    """Return a regular expression of words that are not the commonest."""
    one, other, third = chance.choices(words[COMMONEST:], k=3)
    return chance.choice(
        (
            f"{one} {other}",
            f"\\b{one}(ing|ed|s)? (the )?{other}",
            f"{one}.{{0,20}}{other}",
            f"({one}|{other}) {third}",
            f"^/?{one}[- ]{other}",
        )
    )


def _glob(chance: random.Random, words: Sequence[str]) -> str:
    one, other = chance.choices(words[COMMONEST:], k=2)
    return chance.choice(
        (f"src/{one}/**", f"src/{one}/{other}.py", f"**/{other}_*.sql", f"lib/{one}/*.{{ts,tsx}}", f"{one}.toml")
    )


def edit_text() -> str:
    """Return what an edit writes: words of which some are in triggers."""
    chance = random.Random(SEED + 1)
    word = _zipfian(chance, _vocabulary(random.Random(SEED)))
    found: list[str] = []
    while sum(map(len, found)) < EDITED:
        found.append(word() + chance.choice(("(", ") =", ":", ",\n    ")))
    return " ".join(found)


def _vocabulary(chance: random.Random) -> list[str]:
    """Return the common words, early ones first, and made-up ones among and behind them."""
    onsets = "b c d f g h j k l m n p r s t v w z br ch cl cr dr fl gr kr pl pr qu sh sk sl sp st str th tr".split()
    vowels = "a e i o u ai ea ee ia oo ou".split()
    codas = [*[""] * 6, *"l m n r s t x ck nd ng nt rd rk st".split()]
    made: dict[str, None] = {}
    while len(made) < VOCABULARY:
        syllables = chance.choice((2, 2, 3, 3, 4))
        made["".join(chance.choice(onsets) + chance.choice(vowels) for _ in range(syllables)) + chance.choice(codas)] = None
    rare = [word for word in made if word not in COMMON]
    head = list(COMMON)
    for word in rare[: len(head) // 2]:
        head.insert(chance.randrange(len(head) // 4, len(head) + 1), word)
    return head + rare[len(COMMON) // 2 :]


def _identifiers(chance: random.Random, words: Sequence[str]) -> list[str]:
    """Return snake_case, camelCase, paths, error codes and versions."""

    def part() -> str:
        return words[min(int(chance.expovariate(1 / 400)) + COMMONEST, len(words) - 1)]

    forms: tuple[Callable[[], str], ...] = (
        lambda: f"{part()}_{part()}",
        lambda: f"{part()}_{part()}()",
        lambda: part() + part().capitalize(),
        lambda: f"src/{part()}/{part()}_{part()}.py",
        lambda: f"web/src/{part()}/{part().capitalize()}.tsx",
        lambda: f"{part()[:3].upper()}_{chance.randint(100, 9999)}",
        lambda: f"v{chance.randint(0, 9)}.{chance.randint(0, 30)}.{chance.randint(0, 12)}",
    )
    return list(dict.fromkeys(chance.choice(forms)() for _ in range(IDENTIFIERS)))


def _zipfian(chance: random.Random, items: Sequence[str]) -> Callable[[], str]:
    """Return what draws items; the n-th is drawn with a weight of 1 / (n + ZIPF_SHIFT)."""
    weights = list(accumulate(1 / (rank + ZIPF_SHIFT) for rank in range(len(items))))
    return lambda: chance.choices(items, cum_weights=weights)[0]


def import_memories(subcog: Subcog, memories: str, folder: str, environment: dict[str, str]) -> float:
    started = time.perf_counter()
    done = subprocess.run(
        [subcog.command, "import", memories, "--trust", "user"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    took = time.perf_counter() - started
    if done.returncode:
        raise Failed(f"the import failed: {done.stderr.strip()[-2000:]}")
    return took
