"""The files of an import, read into rows: JSONL line by line, Markdown by its sections. No store here."""

from __future__ import annotations

import os
import sys

from subcog_hooks.capture import jsonl, markdown
from subcog_hooks.capture.compose import safe_id, total
from subcog_hooks.capture.import_changes import Options, Problem, Report
from subcog_hooks.core.errors import InvalidMemory, UsageError
from subcog_hooks.core.regular_files import NotRegular, leads_out, read_regular
from subcog_hooks.redaction.redact import holds_known_secret
from subcog_hooks.store.memory import FILE, SECTION_PREFIX, USER, IdMaker, Memory, hash_content, now_ms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

MAX_MARKDOWN = 4_000_000  # bytes of a Markdown file; the longest changelogs have one million
MAX_MARKDOWN_LINES = 100_000  # of a Markdown file: its parser takes 2 KB for each
MAX_LINES = 2_000_000_000  # bytes of a JSONL file, which is read line by line: a million long memories
MAX_LINE = 8_000_000  # characters of one line: the longest content, written in escapes
JSONL_SUFFIXES = (".jsonl", ".ndjson", ".json")
MARKDOWN_SUFFIXES = (".md", ".markdown", ".mdx")
HIDING = {
    "superseded": "superseded",
    "deprecated": "archived",
    "rejected": "archived",
    "obsolete": "archived",
}  # a file's words
SKIPPED_FOLDERS = frozenset((".git", "node_modules", ".venv", "venv", "__pycache__", "dist", "build", "target", ".tox"))


def check_source(path: str, root: str | None) -> None:
    """Check that `path` is something that can be imported. root: of the repository at hand. Raises UsageError otherwise."""
    if path == "-":
        return
    if root and os.path.abspath(path).startswith(os.path.join(root, "")) and leads_out(path, root):
        raise UsageError(f"{path} is a link out of this repository", "name the file or folder that it leads to")
    if os.path.isdir(path):
        return
    if not os.path.exists(path):
        raise UsageError(f"{path or 'an empty name'} does not exist", "give a .jsonl file, a .md file or a folder")
    if not os.path.isfile(path):
        return  # a pipe that the user has named, such as <(command)
    if not path.lower().endswith((*MARKDOWN_SUFFIXES, *JSONL_SUFFIXES)):
        raise UsageError(f"{path} is neither JSONL nor Markdown by its name", "give a .jsonl file, a .md file or a folder")
    if not path.lower().endswith(MARKDOWN_SUFFIXES) and (size := os.path.getsize(path)) > MAX_LINES:
        raise UsageError(f"{path} has {size:,} bytes, at most {MAX_LINES:,} are read", "split it")


def count_lines(path: str) -> int | None:
    """Return how many rows a JSONL file has, for a progress bar; None for Markdown."""
    if not os.path.isfile(path) or path.lower().endswith(MARKDOWN_SUFFIXES):  # a pipe can be read once only
        return None
    lines = 0
    try:
        with open(path, "rb") as file:
            while block := file.read(1 << 20):
                lines += block.count(b"\n")
    except OSError:
        return None
    return lines


def rows_of(path: str, options: Options, report: Report) -> Iterator[tuple[str, jsonl.Row]]:
    """Yield each row with its place; problems go to the report."""
    if os.path.isdir(path):
        found = False
        for file in markdown_files(path):
            found = True
            if leads_out(file, path):
                shown = os.path.relpath(file, path).replace(os.sep, "/")
                report.problems.append(Problem(shown, "is a link that leads out of the folder; it was left out"))
            else:
                yield from _sections(file, options, report)
        if not found:
            raise UsageError(f"{path} holds no Markdown", "give a folder of .md files, or a .jsonl file")
    elif path.lower().endswith(MARKDOWN_SUFFIXES):
        yield from _sections(path, options, report)
    else:
        yield from _lines(path, options, report)


def _lines(path: str, options: Options, report: Report) -> Iterator[tuple[str, jsonl.Row]]:
    ids, now = IdMaker(), now_ms()
    name = "standard input" if path == "-" else os.path.basename(path)
    source = sys.stdin.fileno() if path == "-" else path
    try:
        with open(source, encoding="utf-8-sig", errors="surrogateescape", newline="\n", closefd=path != "-") as file:
            for number, line in enumerate(_whole_lines(file, name), 1):
                if not line.strip():
                    continue
                place = f"{name} line {number}"
                try:
                    if len(line) > MAX_LINE:
                        raise InvalidMemory(f"the line has more than {MAX_LINE:,} characters", "split it")
                    _check_utf8(line)
                    yield place, _with_safe_id(jsonl.parse(line, ids.new, now, trusted=options.trusted), place, report)
                except InvalidMemory as error:
                    report.problems.append(Problem(place, str(error)))
    except OSError as error:
        raise UsageError(f"{path} can not be read: {error.strerror}", "give a .jsonl file, a .md file or a folder") from error


def _whole_lines(file: TextIO, name: str) -> Iterator[str]:
    """Return the lines of a file; of one that is too long, MAX_LINE + 1 characters. Raises UsageError after MAX_LINES."""
    read = 0
    while line := file.readline(MAX_LINE + 1):
        rest = line
        while rest and not rest.endswith("\n") and read <= MAX_LINES:
            read += len(rest)
            rest = file.readline(MAX_LINE)
        read += len(rest)
        if read > MAX_LINES:
            raise UsageError(f"{name} has more than {MAX_LINES:,} characters", "split it")
        yield line


def _with_safe_id(row: jsonl.Row, place: str, report: Report) -> jsonl.Row:
    """Return the row with an id that can be used here: it is looked up before the rest of the memory is redacted."""
    given = row.memory.id
    if row.has_id and (name := safe_id(given)) != given:
        row.memory = row.memory.with_changes(id=name)
        if holds_known_secret(given):
            report.removed = total([report.removed, (("id", 1),)])
        else:
            report.problems.append(Problem(place, f"no command can name the id {given}; it is {name} here", is_entry=True))
    return row


def place_of(file: str, root: str | None) -> str:
    """Return how a Markdown file is named in ids and sources: from the project's root, else by its full path."""
    path = os.path.realpath(file)
    inside = root is not None and path.startswith(os.path.join(root, ""))
    return (os.path.relpath(path, root) if inside else path).replace(os.sep, "/")


def _check_utf8(line: str) -> None:
    try:
        line.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidMemory(f"not UTF-8 at character {error.start + 1}", "convert the file") from error


def markdown_files(folder: str) -> Iterator[str]:
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS and not name.startswith("."))
        for name in sorted(files):
            if name.lower().endswith(MARKDOWN_SUFFIXES):
                yield os.path.join(parent, name)


def _sections(file: str, options: Options, report: Report) -> Iterator[tuple[str, jsonl.Row]]:
    """Yield the sections of a Markdown file, each with an id that follows from its place: importing again adds nothing."""
    shown = place_of(file, options.root)
    try:
        raw = read_regular(file, MAX_MARKDOWN + 1)
        status = os.stat(file)
        if len(raw) > MAX_MARKDOWN:
            fault = f"has {status.st_size:,} bytes, at most {MAX_MARKDOWN:,} are read; split it"
            report.problems.append(Problem(shown, fault))
            return
        text = raw.decode("utf-8-sig")
        if text.count("\n") > MAX_MARKDOWN_LINES:
            report.problems.append(Problem(shown, f"has more than {MAX_MARKDOWN_LINES:,} lines; split it"))
            return
        modified = int(status.st_mtime * 1000)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, NotRegular) else error
        report.problems.append(Problem(shown, f"can not be read: {reason}"))
        return
    report.files.add(shown)
    for row in sections_of(text, shown, modified, options.project, trusted=options.trusted):
        yield f"{shown} line {row.memory.source.rpartition(':')[2]}", row


def sections_of(text: str, shown: str, modified: int, project: str | None, *, trusted: bool = False) -> Iterator[jsonl.Row]:
    """Yield the sections of a Markdown document as memories with ids that follow from their places.

    shown: the file's name from the project's root; modified: milliseconds since the epoch, where the document has no date;
    trusted: the person vouches for it.
    """
    title = os.path.splitext(os.path.basename(shown))[0]
    document = markdown.read(text, title=title)
    seen: dict[str, int] = {}
    for section in document.sections:
        key = "\x00".join((project or "", shown, *section.heading_path))
        seen[key] = seen.get(key, 0) + 1
        memory = Memory(
            id=SECTION_PREFIX + hash_content(f"{key}\x00{seen[key]}")[:12],
            content=section.content,
            namespace=document.namespace,
            scope="project" if project else "user",
            project=project,
            tags=document.tags,
            source=f"{shown}:{section.line}",
            status=HIDING.get(document.status, "active"),
            trust=USER if trusted else FILE,
            created_at=document.date or modified,
            updated_at=document.date or modified,
        )
        yield jsonl.Row(memory, True, is_section=True)
