"""Reading sessions into sessions.db: each transcript once, and again from its beginning when it has grown.

An episode is a typed turn: the request, the agent's findings, failures and files. A turn that only agrees or says to go on is
part of the episode before it. Nothing is stored before secrets and private spans are masked.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from subcog_hooks.capture.repository_files import is_glob
from subcog_hooks.core.deadline import FULL_PACE, Pace
from subcog_hooks.core.errors import SubcogError
from subcog_hooks.episodes.episode_store import FORGOTTEN, EpisodeDetails, EpisodeStore, failure_key
from subcog_hooks.learn import transcript, transcript_files
from subcog_hooks.learn.learning import find_start
from subcog_hooks.learn.transcript_files import SessionFolders, TranscriptFile
from subcog_hooks.learn.turn_scores import MadeCall, TypedTurn
from subcog_hooks.redaction.masking import remove_private
from subcog_hooks.redaction.redact import redact
from subcog_hooks.store.learned import ReadPosition
from subcog_hooks.store.memory import EPISODE_PREFIX, SESSION_SOURCE, TRANSCRIPT, Memory, hash_content, now_ms
from subcog_hooks.text import ACKNOWLEDGED, CLASSES, FILLERS
from subcog_hooks.text.pasted import find_failures
from subcog_hooks.text.sanitise import one_line
from subcog_hooks.text.simple_commands import find_commands, program_name
from subcog_hooks.text.typed_prompt import prepare_prompt, split_sentences

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
    """An episode: the request of a typed turn, its outcome and its failures.

    rows: ids of the typed rows and of the agent's last text; project: its identity, or the folder; at_ms: since the epoch;
    position: in its session; failures: by normalised error line the last action before it was gone, "" where it never was.
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
    transcript: int = 0

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
    """Yield the episodes of one session's turns. owner_of: a folder's project; relative: a path from its project's root."""
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
    """Return the key of a call, equal when it is made again: the tool, and its file or programs."""
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


NAMESPACE = "sessions"
MAX_UNSTORED = 500  # episodes in one transaction
_DETAILS = ("id", "transcript", "session", "client", "position", "rows")  # fields of an episode's details
_MADE_FIELDS = ("content", "paths", "project")  # fields of a memory that a new reading may change


@dataclass(slots=True)
class ReadingReport:
    """The outcome of a reading: counts, and faults."""

    sessions: int = 0
    unchanged: int = 0
    episodes: int = 0
    projects: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)
    is_cut_short: bool = False


class SessionReader:
    """A reading of sessions. left_out: excluded projects and folders."""

    def __init__(self, store: EpisodeStore, left_out: Sequence[str]) -> None:
        self.report = ReadingReport()
        self._store = store
        self._folders = SessionFolders(left_out)
        self._episodes: dict[str, Episode] = {}  # not yet stored, by id
        self._read: list[tuple[str, int, int, str]] = []  # transcripts whose episodes are among them

    def read(self, files: Sequence[TranscriptFile], progress: Callable[[int], None], pace: Pace = FULL_PACE) -> ReadingReport:
        """Read transcripts and store their episodes. `progress` is called with the number of read bytes. Raises StoreError."""
        for file in files:
            if not pace.goes_on():
                self.report.is_cut_short = True
                break
            try:
                self._read_file(file, pace)
            except SubcogError:
                raise
            except OSError as error:
                self.report.problems.append(f"{error.filename or file.path} cannot be read: {error.strerror}")
            except Exception as error:  # noqa: BLE001 - one file must not stop the others
                self.report.problems.append(f"{file.path} cannot be read: {type(error).__name__}: {error}")
            if len(self._episodes) >= MAX_UNSTORED:
                self._store_episodes()
            progress(file.size)
        self._store_episodes()
        return self.report

    def _read_file(self, file: TranscriptFile, pace: Pace) -> None:
        before = self._store.read_position(file.path)
        if before and (before[0] == FORGOTTEN or find_start(file, ReadPosition(*before)) is None):
            self.report.unchanged += 1
            return
        turns: list[TypedTurn] = []
        end, has_more = 0, True
        while has_more:
            reading = transcript.read_transcript(file.path, end, pace, with_work=True)
            turns += reading.turns
            end, has_more = reading.end, reading.has_more
        kept = [turn for turn in turns if not self._folders.is_excluded(turn.folder)]
        client = transcript_files.client_of(file.path)
        number = self._store.transcript_number(file.path)
        for episode in cut_episodes(kept, client, self._folders.owner_of, self._relative):
            episode.transcript = number
            self._episodes.setdefault(episode.id, episode)  # a fork of a session repeats its turns
            self.report.episodes += 1
            self.report.projects.add(episode.project)
        self.report.sessions += 1
        self._read.append((file.path, file.size, end, transcript_files.compute_digest(file.path, end)))

    def _relative(self, folder: str, path: str) -> str:
        """Return a path from its project's root on, "" for one that no glob can be."""
        root = self._folders.root_of(folder) or folder
        below = os.path.relpath(path, root) if root and path.startswith(os.path.join(root, "")) else path
        below = below.replace("\\", "/")
        return below if is_glob(below) else ""

    def _store_episodes(self) -> None:
        """Store the episodes of the transcripts that were read, and drop those that are no longer in them."""
        store = self._store
        stored = store.by_ids(list(self._episodes))
        owners = {id_: detail.transcript for id_, detail in store.details_of(list(stored)).items()}
        purged = store.purged_sections(list(self._episodes))
        own = {
            episode.id: episode
            for episode in self._episodes.values()
            if episode.id not in purged and owners.get(episode.id, episode.transcript) == episode.transcript
        }
        gone = [
            detail.id
            for path, *_ in self._read
            for detail in store.details_in(store.transcript_number(path))
            if detail.id not in own
        ]
        if gone:
            store.purge(gone)
            store.may_come_again(gone)
        details = [EpisodeDetails(*(getattr(episode, name) for name in _DETAILS)) for episode in own.values()]
        store.put_details(details, [(key, id_, fix) for id_, episode in own.items() for key, fix in episode.failures.items()])
        memories = {id_: _make_memory(episode) for id_, episode in own.items()}
        if new := [memory for id_, memory in memories.items() if id_ not in stored]:
            store.add(new)
        changed = [
            memory
            for id_, memory in memories.items()
            if id_ in stored and any(getattr(memory, name) != getattr(stored[id_], name) for name in _MADE_FIELDS)
        ]
        if changed:
            store.update(changed)
        for position in self._read:
            store.note_read(*position)
        self._episodes, self._read = {}, []


def _make_memory(episode: Episode) -> Memory:
    time_ms = episode.at_ms or now_ms()
    return Memory(
        id=episode.id,
        content=episode.content,
        namespace=NAMESPACE,
        scope="project",
        project=episode.project,
        paths=episode.files,
        standing=False,
        trust=TRANSCRIPT,
        created_at=time_ms,
        updated_at=time_ms,
    )


def find_gone(store: EpisodeStore, kept_ms: int, now: int) -> list[str]:
    """Return the ids of episodes that go with their transcript, `kept_ms` later (0: at once). Raises StoreError."""
    gone = []
    folders = [os.path.join(client.data.folder_path, "") for client in transcript_files.LEARNED_CLIENTS.values()]
    away = tuple(folder for folder in folders if not os.path.isdir(folder))  # A disk that is away takes nothing with it.
    for path, episodes in store.episodes_by_transcript().items():
        if not transcript_files.has_transcript(path) and not path.startswith(away):
            gone += [id_ for id_, at_ms in episodes if not kept_ms or at_ms < now - kept_ms]
    return gone
