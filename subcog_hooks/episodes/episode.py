"""An episode: what a typed turn of a session asked, what the agent found, what failed, and the files. Pure.

A turn that only agrees or says to go on is part of the episode before it. Nothing here is stored before secrets and private
spans are masked.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from subcog_hooks.episodes.episode_store import failure_key
from subcog_hooks.learn.turn_scores import MadeCall, TypedTurn
from subcog_hooks.redaction.masking import remove_private
from subcog_hooks.redaction.redact import redact
from subcog_hooks.store.memory import EPISODE_PREFIX, SESSION_SOURCE, hash_content
from subcog_hooks.text.pasted import find_failures
from subcog_hooks.text.sanitise import one_line
from subcog_hooks.text.simple_commands import find_commands, program_name
from subcog_hooks.text.typed_prompt import prepare_prompt, split_sentences
from subcog_hooks.text.vocabulary import ACKNOWLEDGED, CLASSES, FILLERS

MAX_ASKED, MAX_OUTCOME = 300, 700  # characters
MAX_FAILURES = 6
MAX_FILES = 20
MAX_FIX = 100  # characters of a fix

_EMPTY = FILLERS | ACKNOWLEDGED | CLASSES["acknowledgement"] | CLASSES["goon"]
_CODE_BLOCK = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
_TABLE_LINE = re.compile(r"^\s*\|?[\s:|-]+\|?\s*$")
_MARKS = re.compile(r"^[\s#>*+-]+|\*\*|__")
_NARRATION = re.compile(
    r"(?:now |ok,? |okay,? |first,? |next,? |great[.!,]? |perfect[.!,]? |good[.!,]? )*"
    r"(?:let me|i'll|i will|i'm going to|let's|now i|i need to|i should|you're (?:absolutely )?right)\b",
    re.IGNORECASE,
)
_PRAISE = re.compile(r"(?:perfect|great|excellent|done|all done|good|awesome)\W*$", re.IGNORECASE)
_OFFER = re.compile(
    r"(?:would you like|want me to|do you want|should i|shall i|let me know|if you(?:'d| would)? (?:like|want|need|prefer)|"
    r"feel free|happy to|just say|ready to|i can also|is there anything)\b",
    re.IGNORECASE,
)
_SIDE_PROGRAMS = frozenset(("cd", "echo", "export", "sleep", "source"))
_WITH_TASKS = frozenset(  # programs that do different things by their first word
    "bun bundle cargo docker dotnet git go gradle just kubectl make mix mvn node npm npx pnpm poetry python python3 uv "
    "yarn".split()
)


@dataclass(slots=True)
class Episode:
    """What a turn asked and what came of it.

    rows: ids of the typed rows and of the agent's last text, the first typed row first; project: identity of its project, or
    the folder; at_ms: milliseconds since the epoch; position: the number of episodes before it in its session; failures: by
    normalised error line the last action before it was gone, "" where it never was.
    """

    id: str
    session: str
    client: str
    project: str
    at_ms: int
    position: int
    asked: str
    outcome: str
    rows: tuple[str, ...]
    files: tuple[str, ...]
    failures: dict[str, str] = field(default_factory=dict)

    @property
    def content(self) -> str:
        """The words by which it is found."""
        return f"{self.asked}\n\n{self.outcome}".strip()


def is_reply(text: str) -> bool:
    """Return whether a turn only agrees, thanks or says to go on.

    >>> [is_reply(text) for text in ("yes", "ok, continue please", "2", "yes, but use pnpm")]
    [True, True, True, False]
    """
    words = [word.replace("'", "") for word in re.findall(r"[^\W\d_][\w']*", text.lower())]
    return all(word in _EMPTY for word in words)


def read_asked(text: str) -> str:
    """Return the typed words of a turn without code and logs, and the pasted line that names a failure.

    >>> read_asked("why?\\n```\\nTypeError: x is undefined\\n```")
    'why? TypeError: x is undefined'
    """
    prepared = prepare_prompt(remove_private(text)[0])
    typed, failure = (one_line(redact(part).text) for part in (prepared.text, *prepared.failures[:1], "")[:2])
    return f"{_cut_end(typed, MAX_ASKED)} {_cut_end(failure, MAX_ASKED // 2)}".strip()


def read_outcome(closing: str) -> str:
    """Return the last sentences of an agent's text, without narration, offers and code.

    >>> read_outcome("Let me check.\\nThe cache key lacked the locale.\\n```\\nx\\n```\\nWant me to add a test?")
    'The cache key lacked the locale.'
    """
    lines = [
        _MARKS.sub("", line).strip()
        for line in _CODE_BLOCK.sub("", remove_private(closing)[0]).splitlines()
        if not _TABLE_LINE.match(line)
    ]
    sentences = [sentence for line in lines for sentence in split_sentences(line.replace("|", " "))]
    kept = [text for text in sentences if not (_NARRATION.match(text) or _PRAISE.match(text) or _OFFER.match(text))]
    text = one_line(redact(" ".join(kept)).text)
    return text if len(text) <= MAX_OUTCOME else text[-MAX_OUTCOME:].partition(" ")[2]


def _cut_end(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit].rpartition(" ")[0] or text[:limit]


def cut_episodes(
    turns: Sequence[TypedTurn], client: str, owner_of: Callable[[str], str | None], relative: Callable[[str, str], str]
) -> Iterator[Episode]:
    """Yield the episodes of one session's turns.

    owner_of: gives the project of a folder, None outside of any. relative: gives a path, behind a folder, from the folder's
    project on.
    """
    groups: list[list[TypedTurn]] = []
    for turn in turns:
        if groups and groups[-1][0].session == turn.session and is_reply(turn.text):
            groups[-1].append(turn)
        else:
            groups.append([turn])
    fixes = _find_fixes(turns)
    for position, group in enumerate(groups):
        first = group[0]
        asked = read_asked(first.text)
        outcome = read_outcome("\n".join(turn.work.closing for turn in group))
        if not asked or not (outcome or any(turn.work.calls for turn in group)):
            continue
        moment = first.at_ms or first.uuid or f"{first.session}:{first.offset}"
        rows = [*(turn.uuid for turn in group), *(turn.work.row for turn in group)]
        calls = [call for turn in group for call in turn.work.calls]
        paths = [call.path for call in sorted(calls, key=lambda call: not call.changed) if call.path]
        keys = [*_read_keys(first.text), *(key for call in calls for key in _read_keys(call.failure, is_output=True))]
        keys = list(dict.fromkeys(keys))[:MAX_FAILURES]
        yield Episode(
            id=EPISODE_PREFIX + hash_content(f"{SESSION_SOURCE}{moment}\0{first.text}")[:12],
            session=first.session,
            client=client,
            project=owner_of(first.folder) or os.path.normpath(first.folder or os.sep),
            at_ms=first.at_ms,
            position=position,
            asked=asked,
            outcome=outcome,
            rows=tuple(dict.fromkeys(filter(None, rows))),
            files=tuple(dict.fromkeys(filter(None, (relative(first.folder, path) for path in paths))))[:MAX_FILES],
            failures={key: _describe_fix(fixes[key]) if key in fixes else "" for key in keys},
        )


@lru_cache(maxsize=1_000)
def _read_keys(text: str, *, is_output: bool = False) -> tuple[str, ...]:
    """Return the normalised messages of the failure in a prompt or an output, as the hook reads them."""
    text = remove_private(text)[0]
    failures = find_failures(text.splitlines()) if is_output else prepare_prompt(text).failures
    return tuple(filter(None, (failure_key(redact(line).text) for line in failures)))


def _find_fixes(turns: Sequence[TypedTurn]) -> dict[str, MadeCall | None]:
    """Return for each failure that was gone the last call before that, None for none.

    A failed call's is gone when the call is made again with success, a pasted one when the next turn does not paste it.
    """
    waiting: dict[tuple[str, ...], list[str]] = {}  # failures by call
    pasted: tuple[str, ...] = ()
    fixes: dict[str, MadeCall | None] = {}
    last: MadeCall | None = None
    for turn in turns:
        keys = _read_keys(turn.text)
        if last:
            fixes.update((key, last) for key in pasted if key not in keys)
        if keys:
            for key in keys:
                fixes.pop(key, None)
            last = None
        pasted = keys
        for call in turn.work.calls:
            if keys := _read_keys(call.failure, is_output=True):
                waiting.setdefault(_identity(call), []).extend(keys)
                for key in keys:
                    fixes.pop(key, None)
            elif waiting and call.has_ended and not call.failure:
                fixes.update(dict.fromkeys(waiting.pop(_identity(call), ()), last))
            if call.command or (call.path and call.changed):
                last = call
    return fixes


def _identity(call: MadeCall) -> tuple[str, ...]:
    """Return what a call has in common with the same call made again: the tool, and its file or programs."""
    if not call.command:
        return call.tool, call.path
    programs = []
    for words in find_commands(call.command):
        program = program_name(words[0]) if words else ""
        task = next((word for word in words[1:] if not word.startswith("-")), "") if program in _WITH_TASKS else ""
        if program and program not in _SIDE_PROGRAMS:
            programs.append(f"{program} {task}")
    return call.tool, *programs


def _describe_fix(call: MadeCall | None) -> str:

    if call is None:
        return "the same call again"
    if call.path:
        return f"a change of {redact(os.path.basename(call.path)).text}"[:MAX_FIX]
    return f"`{_cut_end(one_line(redact(call.command).text), MAX_FIX)}`"
