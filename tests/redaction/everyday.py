"""Made-up secrets as people write them every day, and harmless look-alikes: base64 so that scanners leave the files alone.

None was ever valid. `everyday` was written before the patterns, `named` are the cases that were reported. The rest was
written after the patterns, of kinds that were not thought of before: two groups of 20 and 20 in `later`, one in `held_out`.
When each was new, 10, 5 and 6 of its 20 secrets were in clear and no look-alike was masked; patterns for them came after.
`stated` has 40 and 40 in which a noun, a link and a value stand in any order, in nine languages. `spoken` (80 and 80) and
`unseen` (40 and 40) were written by somebody who had not seen the patterns. `spoken` was looked at afterwards, `unseen` not.
"""

import base64
import json
from pathlib import Path
from typing import NamedTuple

from subcog_hooks.redaction.redact import redact

FOLDER = Path(__file__).parent


class Example(NamedTuple):
    """A text, and the parts of it that must not be stored; a harmless one has none."""

    text: str
    secrets: tuple[str, ...]

    def is_right(self, stored: str) -> bool:
        """Return whether `stored` has no secret, or equals a harmless text."""
        return not any(secret in stored for secret in self.secrets) if self.secrets else stored == self.text


def read_examples(group: str) -> list[Example]:
    rows = base64.b64decode((FOLDER / f"{group}.b64").read_bytes()).decode().splitlines()
    return [Example(row["text"], tuple(row.get("secrets", ()))) for row in map(json.loads, rows)]


def find_wrong(group: str) -> tuple[list[str], list[str]]:
    """Return the secrets of a group that stay in clear, and the harmless texts that are masked."""
    failed = [example for example in read_examples(group) if not example.is_right(redact(example.text).text)]
    in_clear = [example.text for example in failed if example.secrets]
    return in_clear, [example.text for example in failed if not example.secrets]
