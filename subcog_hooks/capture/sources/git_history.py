"""Commits and merged requests that give a reason: "because", "instead of", "so that", and reverts with a reason.

A reason is the commit's subject and the paragraph with the reason. Few are taken, and all wait for review. The patterns were
tuned by eye on three public histories; the misleading kinds are left out below.
"""

import os
import re
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import IO

from subcog_hooks.capture.sources.source_reading import SourceReading
from subcog_hooks.core import child_environment
from subcog_hooks.core.errors import UsageError
from subcog_hooks.core.regular_files import leads_out, read_regular
from subcog_hooks.llm.claude_client import NOT_RUN, Lifeline
from subcog_hooks.store import project
from subcog_hooks.store.git_config import parse_config
from subcog_hooks.store.memory import PENDING, hash_content

Commit = tuple[str, int, str, str]  # id, milliseconds since the epoch, author, message

GIT = "git"
MAX_REASONS = 300  # the newest commits; nobody reviews more
MAX_REASON_LENGTH = 700  # characters with the subject line
MIN_REASON_LENGTH = 40  # characters of the sentence with the reason
MIN_REASON_WORDS = 7  # words of the sentence with the reason

_CAUSE = re.compile(  # "instead of" alone names a change without a cause
    r"\b(?:because|so that|otherwise|since (?:it|the|this|they)|to (?:avoid|prevent)|would|too (?:slow|large|many|long)"
    r"|(?:fast|slow|saf)er|breaks?|broke|fails?|failed|loses?|lost|leaks?|races?|dead ?locks?|no longer)\b",
    re.IGNORECASE,
)
_REASONS = {  # the kinds of reasons
    "because": re.compile(r"\bbecause\b(?! of (?:this|that)\b)", re.IGNORECASE),
    "so that": re.compile(r"\bso that(?: \S+){3}", re.IGNORECASE),
    "instead of": re.compile(r"\b(?:instead of|rather than|in favou?r of)\s+\S", re.IGNORECASE),
}
_HEDGE = re.compile(  # the author was unsure, or did not mean it to last
    r"\b(?:not sure|no idea|don't know|do not know|i think|i believe|i'(?:m|ve|d|ll)|maybe|perhaps|probably|apparently"
    r"|hopefully|for now|temporar(?:y|ily)|investigat(?:e|ing)|for some reason|todo|fixme|hack|kludge|ugly|seems?|i guess|let's"
    r"|workaround)\b"
    r"|^\.\.|(?:\.\.\.|…)$|https?://",
    re.IGNORECASE,
)
_REVERT = re.compile(r'Revert "(?P<what>.+)"$')
_REVERT_NOTE = re.compile(r"This reverts commit [0-9a-f]{7,40}(?:, reversing\s+changes made to [0-9a-f]{7,40})?\s*\.?")
_MERGE_SUBJECT = re.compile(r"(?:Merge pull request #\d+ from |Merge branch '[^']*'|Merge remote-tracking |Merged in )")
_TRAILER = re.compile(
    r"[A-Z][A-Za-z]*(?:-[A-Za-z]+)+: |(?:Closes|Fixes|Resolves|Refs|See|Bug|Issue|Link|Cc|PR|Close|Fix)[: ]+\S+$"
)
_EXCLUDED_SUBJECT = re.compile(
    r"(?:bump|fixup!|squash!|amend!|wip\b|merge (?:branch|tag)|update changelog|release\b|prepare (?:for )?release|version\b"
    r"|(?:chore|build)\(deps|v?\d+\.\d|\[?(?:tests?|ci|docs?|style|lint|format|typo|whitespace)\]?\b"
    r"|(?:fix|correct) (?:a )?typo|minor |update \.?mailmap|.*\b(?:warnings?|copyright|translations?)\b)",
    re.IGNORECASE,
)
_MACHINE = re.compile(r"\[bot\]|\bbot$|dependabot|renovate|greenkeeper|weblate", re.IGNORECASE)
_REQUEST_NUMBER = re.compile(r"\s*\(#\d+\)$")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(])")
_CODE = re.compile(r"(?:\s{4}|\t|>|\$ |diff |@@|\+\+\+|---|Traceback|\s*at \S+\()")
_CHANGE_OF_FILE = re.compile(  # an entry of a ChangeLog
    r"\*? ?[\w/.-]*\w[./]\w[\w.-]*(?: \([^)]*\)| \[[^\]]*\]|, [\w/.-]+)*:|\([\w, ]+\)(?: \[[^\]]*\])?:"
)


def read_reasons(commits: Iterable[Commit], owner: str) -> SourceReading:
    """Read the commits that give a reason. owner: the project's identity."""
    reading = SourceReading(GIT, f"{owner}/")
    reading.is_whole = False  # a commit beyond the limit is still right
    seen: set[str] = set()
    for id_, at_ms, author, message in commits:
        if _MACHINE.search(author):
            reading.left_out["is a machine's commit"] += 1
            continue
        kind, text = extract_reason(message)
        digest = hash_content(text)
        if not text:
            reading.left_out["states no reason"] += 1
        elif digest in seen:
            reading.left_out["says what another one says"] += 1
        elif len(seen) == MAX_REASONS:
            reading.left_out[f"is older than the {MAX_REASONS} newest with a reason"] += 1
        else:
            seen.add(digest)
            reading.add(kind, id_, text, at_ms, owner, namespace="decisions", trust="tool", status=PENDING)
    return reading


def extract_reason(message: str) -> tuple[str, str]:
    """Return how a commit's message gives its reason, and its subject with that reason; two empty texts for none.

    >>> extract_reason("Read the queue at start\\n\\nThe worker keeps its name because a reload lost three jobs.")[1]
    'Read the queue at start\\n\\nThe worker keeps its name because a reload lost three jobs.'
    >>> extract_reason("Fix typo")
    ('', '')
    """
    subject, paragraphs = _split_message(message)
    revert = _REVERT.match(subject)
    if revert and paragraphs and _is_firm(paragraphs[0]):
        return "revert", f"{subject}\n\n{_truncate(paragraphs[0], MAX_REASON_LENGTH - len(subject) - 2)}"
    if not subject or revert or _EXCLUDED_SUBJECT.match(subject):
        return "", ""
    for paragraph in paragraphs:
        sentences = _SENTENCE_END.split(paragraph)
        for number, sentence in enumerate(sentences):
            if kind := _reason_kind(sentence, " ".join(sentences[number : number + 2])):
                max_length = MAX_REASON_LENGTH - len(subject) - 2
                return kind, f"{subject}\n\n{_surrounding_text(sentences, number, max_length)}"
    kind = _reason_kind(subject, subject)
    return (kind, subject) if kind and kind != "so that" else ("", "")


def _split_message(message: str) -> tuple[str, list[str]]:
    blocks = [block for block in re.split(r"\n[ \t]*\n", message.replace("\r\n", "\n").strip()) if block.strip()]
    if blocks and _MERGE_SUBJECT.match(blocks[0]):
        blocks = blocks[1:]  # the title of the merged request follows
    if not blocks:
        return "", []
    first, _, rest = blocks[0].partition("\n")
    subject = _REQUEST_NUMBER.sub("", first.strip())
    paragraphs = []
    is_code = False
    for block in [rest, *blocks[1:]]:
        is_fenced = is_code or "```" in block
        is_code ^= block.count("```") % 2 == 1
        lines = [line for line in block.split("\n") if line.strip() and not _TRAILER.match(line)]
        if is_fenced or any(map(_CODE.match, lines)):
            continue
        prose = (_REVERT_NOTE.sub("", text).strip() for text in _join_lines(lines))
        paragraphs += [text for text in prose if text and not _CHANGE_OF_FILE.match(text)]
    return subject, paragraphs


def _join_lines(lines: list[str]) -> list[str]:
    """Join the lines of a block into paragraphs of one line each: a list's entry is a paragraph."""
    starts = [number for number, line in enumerate(lines) if number == 0 or re.match(r"\s*(?:[-*+]|\d+[.)])\s", line)]
    return [
        re.sub(r"^(?:[-*+]|\d+[.)])\s+", "", " ".join(" ".join(lines[start:end]).split()))
        for start, end in pairwise([*starts, len(lines)])
    ]


def _reason_kind(sentence: str, context: str) -> str:
    """Return how a sentence gives a reason, "" for none, a question or a guess. context: the sentence and the next one."""
    if not _is_firm(sentence) or sentence.endswith("?"):
        return ""
    kind = next((kind for kind, pattern in _REASONS.items() if pattern.search(sentence)), "")
    return "" if kind == "instead of" and not _CAUSE.search(context) else kind


def _is_firm(text: str) -> bool:
    return len(text) >= MIN_REASON_LENGTH and len(text.split()) >= MIN_REASON_WORDS and not _HEDGE.search(text)


def _surrounding_text(sentences: list[str], number: int, max_length: int) -> str:
    first = last = number
    while first > 0 and len(" ".join(sentences[first - 1 : last + 1])) <= max_length:
        first -= 1
    while last + 1 < len(sentences) and len(" ".join(sentences[first : last + 2])) <= max_length:
        last += 1
    return _truncate(" ".join(sentences[first : last + 1]), max_length)


def _truncate(text: str, max_length: int) -> str:
    return text if len(text) <= max_length else f"{text[: max(0, max_length - 1)].rsplit(' ', 1)[0]}…"


MAX_HEAD = 1_000  # bytes
MAX_GIT_ENTRIES = 300_000  # entries of git's folders; git packs loose objects from some 7,000 on
MAX_GIT_CONFIG = 1_000_000  # bytes of a configuration file
MAX_INCLUDES = 100  # configuration files; git itself nests ten

_REFERENCE = "ref: "


def has_commits(root: str) -> bool:
    """Return whether the branch of a worktree seems to have a commit, without reading one."""
    folders = project.git_folders(root)
    if not folders:
        return False
    git, common = folders
    try:
        head = read_regular(os.path.join(git, "HEAD"), MAX_HEAD).decode("utf-8", "replace").strip()
    except OSError:
        return False
    if not head.startswith(_REFERENCE):
        return bool(head)
    if os.path.isdir(os.path.join(common, "reftable")):
        return True
    return any(os.path.isfile(os.path.join(common, name)) for name in (head.removeprefix(_REFERENCE), "packed-refs"))


def find_pipe(root: str) -> str:
    """Return a named pipe or device in a repository that could block git for ever; "" for none."""
    return next(filter(_can_block, _find_special_files(root)), "")


def _can_block(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
        is_device = stat.S_ISCHR(mode) or stat.S_ISBLK(mode)
        return stat.S_ISFIFO(mode) or (is_device and not os.path.samefile(path, os.devnull))
    except OSError:
        return False


def _find_special_files(root: str) -> Iterator[str]:
    folders = list(dict.fromkeys(project.git_folders(root)))
    configurations = [os.path.join(folder, name) for folder in folders for name in ("config", "config.worktree")]
    looked_at = 0
    while folders and looked_at < MAX_GIT_ENTRIES:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    looked_at += 1
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    elif not entry.is_file(follow_symlinks=False):
                        yield entry.path
        except OSError:
            continue  # git reports it itself
    for configuration in configurations:  # the list grows meanwhile
        included = [file for file in _find_includes(configuration) if file not in configurations]
        configurations += included[: MAX_INCLUDES - len(configurations)]
        yield from included


def _find_includes(configuration: str) -> Iterator[str]:
    try:
        text = read_regular(configuration, MAX_GIT_CONFIG).decode("utf-8", "replace")
    except OSError:
        return
    for section, _, key, value in parse_config(text):
        if section in ("include", "includeif") and key == "path" and value:
            yield os.path.join(os.path.dirname(configuration), os.path.expanduser(value))


MAX_COMMITS = 100_000  # the newest commits; Linux has a million
MAX_COMMIT_MESSAGE = 20_000  # bytes of a message; the rest is skipped
LIMIT_S = 60.0  # seconds for the whole history
READ_SIZE = 1 << 16  # bytes of one read
MAX_GIT_ERROR = 2_000  # bytes of git's error message

_GIT = (*("--no-pager", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "protocol.allow=never"),)
_LOG = (
    *("log", "-z", "--no-show-signature", "--no-ext-diff", "--no-textconv", "--no-notes", "--no-color"),
    *("--no-mailmap", "--no-decorate", "--no-graph", "--encoding=UTF-8", f"--max-count={MAX_COMMITS}"),
)
_COMMIT_FORMAT = "--format=%H%x00%ct%x00%an%x00%B"
_ENVIRONMENT = {  # git fetches no object, asks nobody and writes nothing
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "LC_ALL": "C",
}


def list_commits(root: str, since: str | None, environment: Mapping[str, str]) -> Iterator[Commit]:
    """Yield the commits of a repository's branch, newest first. since: a date as git parses it. Raises UsageError."""
    options = ["--no-patch", _COMMIT_FORMAT, *([f"--since={since}"] if since else []), "HEAD", "--"]
    fields = read_log(root, options, environment)
    for name, seconds, author, message in zip(fields, fields, fields, fields, strict=False):
        yield name.strip(), int(seconds) * 1000 if seconds.isdecimal() else 0, author, message


def read_log(
    root: str, options: Iterable[str], environment: Mapping[str, str], limit_s: float = LIMIT_S
) -> Generator[str, None, None]:
    """Yield the fields that `git log -z` prints with these options. Raises UsageError, also after `limit_s` seconds."""
    return read_git(root, [*_LOG, *options], environment, limit_s)


def read_git(
    root: str, words: Sequence[str], environment: Mapping[str, str], limit_s: float = LIMIT_S
) -> Generator[str, None, None]:
    """Yield the fields that a reading command of git prints, separated by NUL. Raises UsageError as `read_log` does."""
    with Lifeline() as lifeline, _run_git(root, words, environment, lifeline, limit_s) as process:
        assert process.stdout is not None
        yield from _split_at_nul(process.stdout)


@contextmanager
def _run_git(
    root: str, words: Sequence[str], environment: Mapping[str, str], lifeline: Lifeline, limit_s: float
) -> Iterator[subprocess.Popen[bytes]]:
    program = child_environment.find_program("git")
    if program is None or not leads_out(program, root):  # a repository can hold a program, too
        raise UsageError("git is not installed outside of this folder", "install it, or put it into PATH")
    if pipe := find_pipe(root):
        raise UsageError(f"{pipe} is a named pipe or a device, and git would wait for it", "remove it")
    try:
        process = subprocess.Popen(
            lifeline.words_for([program, *_GIT, "-C", root, *words]),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**child_environment.environment_of_git(environment), **_ENVIRONMENT},
            start_new_session=True,
            pass_fds=lifeline.descriptors,
        )
    except OSError as error:
        raise UsageError(f"git cannot be run: {error.strerror}", "look whether `git log` works here") from error
    assert process.stderr is not None
    complaint = bytearray()
    listener = threading.Thread(target=_collect_errors, args=(process.stderr, complaint), daemon=True)
    listener.start()
    clock = threading.Timer(limit_s, _kill_git, (process,))
    clock.start()
    is_read = False
    try:
        yield process
        is_read = True
    finally:
        clock.cancel()
        if not is_read:
            _kill_git(process)
        code = process.wait()
        listener.join(1.0)
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()
    if code == NOT_RUN and not complaint:
        raise UsageError("git cannot be run", "look whether `git log` works here")
    if code < 0:
        raise UsageError(f"the history was not read within {limit_s:.0f} s", "give --since, such as --since 2025-01-01")
    if code:
        messages = complaint.decode("utf-8", "replace").strip().splitlines()
        message = messages[0] if messages else f"exit code {code}"
        raise UsageError(f"git {words[0]} failed: {message}", "look whether `git log` works here")


def _kill_git(process: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":
        process.kill()
        return
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it has ended by itself


def _collect_errors(stream: IO[bytes], complaint: bytearray) -> None:
    """Keep the beginning of git's error message, and read on so that git never blocks."""
    while piece := stream.read(READ_SIZE):
        complaint += piece[: MAX_GIT_ERROR - len(complaint)]


def _split_at_nul(stream: IO[bytes]) -> Iterator[str]:
    text = bytearray()
    while piece := stream.read(READ_SIZE):
        first, *others = piece.split(b"\0")
        text += first[: MAX_COMMIT_MESSAGE - len(text)]
        for other in others:
            yield text.decode("utf-8", "replace")
            text = bytearray(other[:MAX_COMMIT_MESSAGE])
    if text:
        yield text.decode("utf-8", "replace")
