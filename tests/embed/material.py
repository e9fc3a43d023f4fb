"""Material for the encoder's tests: the `tokenizers` library, an encoder of random rows, texts of every kind."""

from __future__ import annotations

import json
import random
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from scripts.encoder import packing
from subcog_hooks.embed.multilingual_encoder import MultilingualEncoder
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.embed.static_encoder import StaticEncoder

TOKENIZER_JSON = Path(PACKAGED.folder) / "tokenizer.json"
DIMENSION = 384
BIGRAMS = 1024

_WORDS = r"""
the of deadlocks migration Postgres unbelievably queue's don't e.g. i.e. snake_case_name camelCaseName HTTPServer2 OAuth2
src/app/db.py C:\Users\me\x.txt https://example.org/a?b=c&d=%20 --no-verify v2.1.329 E0308 0xDEADBEEF foo(bar[1])->baz;
a!=b&&c<=d x+=1 {"key":null} <div@class="a"> #include @user $HOME ~/x ## ##ing café naïve Straße ﬁle Ångström İstanbul ΣΊΣΥΦΟΣ
привет Ёлка יוֹד שָׁלוֹם مرحبا हिन्दी ภาษาไทย 東京都 キャッシュ が 한국어 ქართული ½ ² № ™ … “quotes” ‘x’ — –
""".split()
_WORDS += [
    *("\u0065\u0308\u0323", "👩\u200d👩\u200d👧", "🏳\ufe0f\u200d🌈", "👍🏽", "\u00ad", "\u200b", "\ufeff", "\u2028", "\x85")
]
_WORDS += ["\x00", "\x1f", "\x7f", "\ufffd", "\ue000", "\u1112\u1161", "\u302e", "\U0001d165"]


def library() -> Tokenizer:
    """The library's tokenizer, which neither cuts nor pads."""
    tokenizer = Tokenizer.from_file(str(TOKENIZER_JSON))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def vocabulary() -> dict[str, int]:
    token_ids: dict[str, int] = json.loads(TOKENIZER_JSON.read_text(encoding="utf-8"))["model"]["vocab"]
    return token_ids


def unit_vector(encoder: StaticEncoder | MultilingualEncoder, text: str) -> list[float]:
    """The vector of a text before it is rounded to bytes, of length 1; [] where the text has none."""
    sums = encoder._sums(text)
    length = sum(value * value for value in sums) ** 0.5
    return [value / length for value in sums]


def random_rows(seed: int, count: int, dimension: int = DIMENSION) -> tuple[packing.Rows, packing.Scales]:
    """Rows `(count, dimension) int8` with all values that there are, scales of very different size."""
    generator = np.random.default_rng(seed)
    rows = generator.integers(-128, 128, (count, dimension), np.int8)
    return rows, generator.uniform(1e-4, 1e-2, count).astype(np.float32)


def texts(seed: int, count: int) -> list[str]:
    """Texts of words, code, scripts, marks, symbols and control characters, mixed anyhow."""
    chance = random.Random(seed)
    pools = [*_by_category().values(), _WORDS, _WORDS, _WORDS, ["[", "]", "[mask]", "[unused1]", "##"]]
    made = []
    for _ in range(count):
        few = chance.sample(pools, chance.randint(1, 5))  # texts of few kinds: runs of one script, of marks, of symbols
        joint = chance.choice(("", "", " ", "\n"))
        made.append(joint.join(chance.choice(chance.choice(few)) for _ in range(chance.choice((1, 3, 10, 40, 150)))))
    return made


def is_stable(character: str) -> bool:
    """Whether the library, which has tables of Unicode 8, and this Python have the same category for a character."""
    before, now = unicodedata.ucd_3_2_0.category(character), unicodedata.category(character)
    return before == now or (before == "Cn" and now[0] not in "MPC")


def _by_category() -> dict[str, Sequence[str]]:
    """The characters of each Unicode category, and the characters that decompose, change case or lie below U+0250."""
    pools: dict[str, list[str]] = {}
    for c in map(chr, range(0x110000)):
        kind = unicodedata.category(c)
        if kind == "Cs" or not is_stable(c):
            continue  # The library refuses lone surrogates.
        pools.setdefault(kind, []).append(c)
        if kind != "Cn" and (unicodedata.decomposition(c) or c.lower() != c or c < "\u0250"):
            pools.setdefault("changing", []).append(c)
    return dict(pools)
