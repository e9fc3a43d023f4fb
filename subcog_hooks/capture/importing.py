"""An import: its files are found and read, and its memories are stored in batches."""

import os
import stat
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TextIO

from subcog_hooks.capture import import_changes, jsonl, repository_files, sections
from subcog_hooks.capture.import_changes import ImportOptions, ImportReport, is_untouched, section_file
from subcog_hooks.capture.markdown_document import read_document, section_date_ms
from subcog_hooks.capture.repository_files import UTF16_MARKS, find_holder, limit_to_repository, narrow_globs, read_rule_cues
from subcog_hooks.capture.sections import MARKDOWN_SUFFIXES, RULE_SUFFIX, find_sections
from subcog_hooks.core.errors import InvalidMemory, StoreBusy, UsageError
from subcog_hooks.core.files import leads_out, read_regular
from subcog_hooks.store.memory import FILE, USER, IdMaker, Memory, now_ms
from subcog_hooks.store.project import Project
from subcog_hooks.store.store import Store

MAX_JSONL_BYTES = 2_000_000_000  # bytes of a JSONL file: a million long memories
MAX_LINE_LENGTH = 8_000_000  # characters of one line: the longest content, written in escapes
JSONL_SUFFIXES = (".jsonl", ".ndjson", ".json")
SKIPPED_FOLDERS = frozenset((".git", "node_modules", ".venv", "venv", "__pycache__", "dist", "build", "target", ".tox"))


_OPEN_FILES = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")  # A shell names an open pipe so, as in <(command).


def check_source(path: str) -> Project | None:
    """Check that `path` can be imported, and return the repository that holds it. Raises UsageError."""
    if path == "-" or (path.startswith(_OPEN_FILES) and os.path.exists(path) and stat.S_ISFIFO(os.stat(path).st_mode)):
        return None
    holder = find_holder(path)
    if os.path.isdir(path):
        return holder
    expected = "give a .jsonl file, a .md file or a folder"
    if not os.path.exists(path):
        raise UsageError(f"{path or 'an empty name'} does not exist", expected)
    if not os.path.isfile(path):
        raise UsageError(f"{path} is no regular file", expected)
    if not path.lower().endswith((*MARKDOWN_SUFFIXES, *JSONL_SUFFIXES)):
        raise UsageError(f"{path} is neither JSONL nor Markdown by its name", expected)
    if not path.lower().endswith(MARKDOWN_SUFFIXES) and (size := os.path.getsize(path)) > MAX_JSONL_BYTES:
        raise UsageError(f"{path} has {size:,} bytes, at most {MAX_JSONL_BYTES:,} are read", "split it")
    return holder


def read_rows(path: str, options: ImportOptions, report: ImportReport) -> Iterator[tuple[str, jsonl.Row]]:
    """Yield each row with its location; problems go to the report. Raises UsageError for a folder that never had Markdown."""
    if os.path.isdir(path):
        nested: list[str] = []
        files = list(find_markdown_files(path, nested))
        report.remarks += [f"{repository} is another repository: import it by itself" for repository in nested]
        for file in files:
            if leads_out(file, path):
                name = os.path.relpath(file, path).replace(os.sep, "/")
                report.refuse(name, "is a link that leads out of the folder; it was left out")
            else:
                yield from _read_sections(file, options, report)
        if not (files or report.lost or report.kept):
            raise UsageError(f"{path} holds no Markdown", "give a folder of .md files, or a .jsonl file")
    elif path.lower().endswith(MARKDOWN_SUFFIXES):
        yield from _read_sections(path, options, report)
    else:
        yield from _read_json_lines(path, options, report)


def _read_json_lines(path: str, options: ImportOptions, report: ImportReport) -> Iterator[tuple[str, jsonl.Row]]:
    ids, time_ms = IdMaker(), now_ms()
    name = "standard input" if path == "-" else os.path.basename(path)
    names = options.names if options.is_repositorys else ()
    source = sys.stdin.fileno() if path == "-" else path
    try:
        is_utf16 = os.path.isfile(path) and read_regular(path, 2) in UTF16_MARKS.values()  # by `>` of PowerShell 5
        encoding, errors = ("utf-16", "replace") if is_utf16 else ("utf-8-sig", "surrogateescape")
        with open(source, encoding=encoding, errors=errors, newline="\n", closefd=path != "-") as file:
            for number, line in enumerate(_read_whole_lines(file), 1):
                if not line.strip():
                    continue
                location = f"{name} line {number}"
                try:
                    if len(line) > MAX_LINE_LENGTH:
                        raise InvalidMemory(f"the line has more than {MAX_LINE_LENGTH:,} characters", "split it")
                    line.encode("utf-8")
                    row = jsonl.parse(line, ids.new, time_ms, trusted=options.trusted, repository_names=names)
                    if (safe := jsonl.safe_id(row.memory.id)) != row.memory.id:
                        row.memory = row.memory.with_changes(id=safe)
                        report.removed["id"] += 1
                    yield location, row
                except UnicodeEncodeError as error:
                    report.refuse(location, f"not UTF-8 at character {error.start + 1}; convert the file")
                except InvalidMemory as error:
                    report.refuse(location, str(error))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", "give a .jsonl file, a .md file or a folder") from error


def _read_whole_lines(file: TextIO) -> Iterator[str]:
    """Yield lines cut to MAX_LINE_LENGTH + 1 characters."""
    while line := file.readline(MAX_LINE_LENGTH + 1):
        rest = line
        while rest and not rest.endswith("\n"):
            rest = file.readline(MAX_LINE_LENGTH)
        yield line


def name_in_sources(file: str, root: str | None) -> str:
    """Return the name of a Markdown file in ids and sources: from the project's root, else its full path."""
    path = os.path.realpath(file)
    inside = root is not None and path.startswith(os.path.join(root, ""))
    return (os.path.relpath(path, root) if inside else path).replace(os.sep, "/")


def find_markdown_files(folder: str, nested: list[str] | None = None) -> Iterator[str]:
    for parent, names in walk_markdown(folder, nested):
        yield from (os.path.join(parent, name) for name in names)


def walk_markdown(folder: str, nested: list[str] | None = None) -> Iterator[tuple[str, list[str]]]:
    """Yield the folders that an import reads, each with the names of its Markdown files. nested: gets repositories below."""
    for parent, folders, files in os.walk(folder):
        wanted = [name for name in sorted(folders) if name not in SKIPPED_FOLDERS and not name.startswith(".")]
        folders[:] = [name for name in wanted if not os.path.lexists(os.path.join(parent, name, ".git"))]
        if nested is not None:
            nested += [os.path.join(parent, name) for name in wanted if name not in folders]
        yield parent, [name for name in sorted(files) if name.lower().endswith(MARKDOWN_SUFFIXES)]


def _read_sections(file: str, options: ImportOptions, report: ImportReport) -> Iterator[tuple[str, jsonl.Row]]:
    name = name_in_sources(file, options.root)
    if os.path.realpath(file) in options.loaded:
        report.files.add(name)
        return
    file_read = repository_files.read_text_file(file)
    if isinstance(file_read, str):
        report.refuse(name, file_read)
        return
    text, _, remark = file_read
    if remark:
        report.remarks.append(f"{name} {remark}")
    report.files.add(name)
    for row in section_rows(text, name, options):
        yield f"{name} line {row.memory.source.rpartition(':')[2]}", row


def section_rows(text: str, file_name: str, options: ImportOptions) -> Iterator[jsonl.Row]:
    """Yield the sections of a document as memories with ids from their headings. file_name: from the project's root."""
    document, project = read_document(text, file_name), options.project
    document_ms = document.date
    paths, standing = read_rule_cues(document.fields, file_name) if file_name.endswith(RULE_SUFFIX) else ([], None)
    counts: Counter[str] = Counter()
    for number, section in enumerate(document.sections):
        group = "\x00".join((project or "", file_name, *section.heading_path, ""))
        counts[group] += 1
        date_ms = section_date_ms(section) or document_ms
        if date_ms is None:
            date_ms = document_ms = options.first_commit_ms(file_name)
        memory = Memory(
            id=sections.section_id(group, counts[group]),
            content=section.content,
            namespace=document.namespace,
            scope="project" if project else "user",
            project=project,
            tags=document.tags,
            keywords=() if number else document.aliases,
            questions=() if number else repository_files.ask_description(document.description),
            paths=tuple(narrow_globs(paths)),
            standing=standing,
            source=f"{file_name}:{section.line}",
            status=import_changes.HIDDEN_STATUSES.get(document.status.kind, "active"),
            trust=USER if options.trusted else FILE,
            created_at=date_ms,
            updated_at=date_ms,
        )
        row = jsonl.Row(memory, True, is_section=True, group=group)
        if project and options.is_repositorys:
            row.limit(limit_to_repository(memory, project, memory.paths))
        yield row


CHUNK_ROWS = 1_000  # memories of one transaction, which holds the write lock for 50 ms
MAX_CHUNK_ATTEMPTS = 3  # attempts at a chunk, in case another process writes meanwhile


def import_path(path: str, store: Store | None, options: ImportOptions, progress: Callable[[int], None]) -> ImportReport:
    """Import a JSONL file, a Markdown file or a folder of Markdown that `check_source` has checked. Committed chunks stay.

    store: None for `--dry-run` without a store; progress: called with the number of rows of each chunk. Raises UsageError,
    StoreError.
    """
    is_markdown = os.path.isdir(path) or path.lower().endswith(MARKDOWN_SUFFIXES)
    report = sections.find_absence(store, path, options) if store and is_markdown else ImportReport()
    rows: Iterable[tuple[str, jsonl.Row]] = read_rows(path, options, report)
    if is_markdown:
        rows = list(rows)  # All files are read before sections are looked for in other files.
    return import_reading(rows, report, store, options, progress)


def import_reading(
    rows: Iterable[tuple[str, jsonl.Row]],
    report: ImportReport,
    store: Store | None,
    options: ImportOptions,
    progress: Callable[[int], None],
) -> ImportReport:
    """Import the rows of a source, and return its report with the outcome. Sections that left its files are archived.

    report: the memories that the source has lost, and its Markdown files. Raises StoreError.
    """
    if store:
        rows = sections.keep_section_ids(rows, store, may_return=options.may_return)
    present_ids: set[str] = set()
    copies: list[tuple[str, jsonl.Row]] = []
    rows_left = iter(rows)
    while chunk := list(islice(rows_left, CHUNK_ROWS)):
        copies += _write_chunk(chunk, store, options, report)
        present_ids.update(row.memory.id for _, row in chunk if row.is_section)
        progress(len(chunk))
    if store:
        # A project that got a remote has another name, but not its sections twice.
        active = find_sections(store, options, ("active",)) if report.files else []
        gone = [*report.lost, *(memory for memory in active if section_file(memory) in report.files)]
        _archive_untouched([memory for memory in gone if memory.id not in present_ids], store, options, report)
    if copies:  # Their originals may have been archived meanwhile.
        report.skipped += len(_write_chunk(copies, store, options, report))
    return report


def _archive_untouched(memories: Sequence[Memory], store: Store, options: ImportOptions, report: ImportReport) -> None:
    """Archive the memories that the user has neither edited nor brought back."""
    untouched = [memory for memory in memories if is_untouched(memory) and not (options.keeps_users and memory.trust == USER)]
    if untouched and not options.dry_run:
        untouched = store.modify(
            [memory.id for memory in untouched],  # The user may have edited a memory since it was read.
            lambda memory: memory.with_changes(status="archived") if is_untouched(memory) else memory,
            may_be_gone=True,
        )
    report.archived += len(untouched)


def _write_chunk(
    chunk: list[tuple[str, jsonl.Row]], store: Store | None, options: ImportOptions, report: ImportReport
) -> list[tuple[str, jsonl.Row]]:
    """Write one chunk, once more where another process writes, and return its copies of other memories. Raises StoreBusy."""
    for _ in range(MAX_CHUNK_ATTEMPTS):
        since = store.revision() if store else 0
        plan = import_changes.plan_changes(chunk, store, options)
        if not store or options.dry_run:
            break
        if store.write_unless_changed(since, new=[*plan.new.values()], changed=[*plan.changed.values()]):
            break
    else:
        raise StoreBusy("another process changes the same memories", "import again: the batches before are stored")
    if store and plan.forgotten_ids:
        stored = store.by_ids(plan.forgotten_ids).values()
        _archive_untouched([memory for memory in stored if memory.status in sections.LIVE], store, options, report)
    report.include(plan)
    return plan.copies
