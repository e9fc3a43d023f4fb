"""Rule files of other tools in a repository, its decision records, and the first commits of its files, which date them."""

import os
import re
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache

from subcog_hooks.capture import importing, markdown
from subcog_hooks.capture.import_changes import ImportOptions
from subcog_hooks.capture.markdown_document import DECISIONS, in_record_folder, is_decision_record
from subcog_hooks.capture.repository_files import (
    ask_description,
    escape_glob,
    is_glob,
    narrow_globs,
    package_of,
    read_rule_cues,
)
from subcog_hooks.capture.sections import MARKDOWN_SUFFIXES
from subcog_hooks.capture.sources.source_reading import SourceReading, read_source_text, walk_folders
from subcog_hooks.core import child_environment
from subcog_hooks.core.errors import UsageError
from subcog_hooks.core.files import leads_out, read_regular
from subcog_hooks.cues import globs
from subcog_hooks.store import project
from subcog_hooks.store.memory import UNDATED
from subcog_hooks.store.project import Project

SOURCES = {  # the rule files of each tool: globs from the repository's root
    "agents": ("**/AGENTS.md",),
    "cursor": (".cursorrules", ".cursor/rules/**/*.mdc", "**/*.mdc"),
    "copilot": (".github/copilot-instructions.md", ".github/instructions/**/*.instructions.md"),
    "windsurf": (".windsurf/rules/*.md", "**/.windsurf/rules/*.md", ".windsurfrules"),
    "gemini": ("**/GEMINI.md",),
}
TOOL_FOLDERS = frozenset((".cursor", ".github", ".windsurf", ".agents", ".ai", ".rules"))


def find_rule_files(name: str, root: str, reading: SourceReading | None = None) -> list[str]:
    """Return a tool's rule files in a repository, sorted, and its folders that are links to elsewhere. No file comes twice."""
    patterns = SOURCES[name]
    endings = tuple(pattern.rpartition("/")[2].lstrip("*") for pattern in patterns)
    walked = walk_folders(root, TOOL_FOLDERS, reading)
    paths = [f"{folder}/{file}".lstrip("/") for folder, names in walked for file in names if file.endswith(endings)]
    rules = [path for path in paths if path in patterns or any("/" in glob and globs.matches(glob, path) for glob in patterns)]
    files = [os.path.join(root, path) for path in rules]
    # A folder of rules that is a link to elsewhere, or none, is named in the report.
    folders = {os.path.join(root, pattern.partition("/*")[0]) for pattern in patterns if "/*" in pattern}
    files += [path for path in folders if os.path.lexists(path) and (not os.path.isdir(path) or leads_out(path, root))]
    by_target: dict[str, str] = {}
    # A file goes before links to it, and a short way before a long one.
    for path in sorted(files, key=lambda path: (os.path.realpath(path) != path, path.count(os.sep), path)):
        by_target.setdefault(os.path.realpath(path), path)
    return sorted(by_target.values())


def read_rule_files(name: str, root: str, owner: str, first_commit_ms: Callable[[str], int]) -> SourceReading:
    """Read a tool's rule files in the project `owner` at `root`. first_commit_ms: as in ImportOptions. Raises UsageError."""
    reading = SourceReading(name, f"{owner}::", repository=owner)
    for file in find_rule_files(name, root, reading):
        location = os.path.relpath(file, root).replace(os.sep, "/")
        if not (text_and_time := read_source_text(file, reading, location, inside=root, of="the repository")):
            continue
        text = text_and_time[0]
        fields, body = markdown.parse_front_matter(text)
        if not body.strip():
            reading.left_out["is empty"] += 1
            continue
        patterns, standing = read_rule_cues(fields, location)
        reading.left_out["is a glob that means nothing here"] += sum(not is_glob(pattern) for pattern in patterns)
        paths = narrow_globs(dict.fromkeys(patterns))
        if (folder := package_of(location)) and not paths:
            paths = [escape_glob(folder) + "/**"]
        description, body = markdown.add_description(fields, body)
        body = "\n" * (text.count("\n") - body.count("\n")) + body  # Its lines keep their numbers.
        cues = {"paths": tuple(paths), "standing": standing, "questions": ask_description(description)}
        kind, date_ms = "for files" if paths else "for the repository", first_commit_ms(location)
        reading.add_document(kind, location, body.rstrip(), date_ms, owner, namespace="patterns", **cues)
    reading.left_out = +reading.left_out
    return reading


ADR = "adr"
_HIDDEN = frozenset((".adr", ".agents"))
_TESTED = re.compile(r"(?:^|[/_-])(?:tests?|testdata|fixtures?|examples?|mocks?)(?=$|[/_-])", re.IGNORECASE)
MAX_CONFIGURATION = 4_096  # bytes of .adr-dir, in which adr-tools keeps the name of the folder
_LOOSE_RECORD = re.compile(r"(?:adr|mdr)[-_]?\d+[-_.]|.*/architecture/\d{3,4}[-_]\w", re.IGNORECASE)


def find_record_places(root: str, reading: SourceReading | None = None) -> tuple[list[str], list[str]]:
    """Return the folders of decision records by their names or `.adr-dir`, and the files beside, relative to `root`."""
    folders: list[str] = []
    with suppress(OSError, UnicodeDecodeError):
        name = os.path.normpath(read_regular(os.path.join(root, ".adr-dir"), MAX_CONFIGURATION).decode("utf-8").strip())
        if name != os.curdir and os.path.isdir(os.path.join(root, name)) and not leads_out(os.path.join(root, name), root):
            folders.append(os.path.relpath(os.path.join(root, name), root).replace(os.sep, "/"))
    files: list[str] = []
    for folder, names in walk_folders(root, _HIDDEN, reading):
        if _TESTED.search(folder) or any(f"{folder}/".startswith(f"{found}/") for found in folders):
            continue
        if in_record_folder(f"{folder}/record.md"):
            if any(importing.find_markdown_files(os.path.join(root, folder))):
                folders.append(folder)
        else:
            paths = (f"{folder}/{name}".lstrip("/") for name in names if name.lower().endswith(MARKDOWN_SUFFIXES))
            files += [path for path in paths if _LOOSE_RECORD.match(path) or _LOOSE_RECORD.match(os.path.basename(path))]
    # The usual folders may be links, which are followed inside of the repository only.
    usual = [above + name for above in ("", "doc/", "docs/") for name in ("adr", "adrs", "decisions")]
    links = [link for link in usual if os.path.islink(path := os.path.join(root, link)) and os.path.isdir(path)]
    inside = [link for link in links if not leads_out(os.path.join(root, link), root)]
    if reading and len(links) > len(inside):
        reading.left_out["is a link out of the repository"] += len(links) - len(inside)
    return list(dict.fromkeys((*folders, *inside))), files


def describe_record_places(root: str) -> str:
    """Return the folders that hold decision records, separated by commas."""
    folders, files = find_record_places(root)
    return ", ".join(dict.fromkeys([*folders, *(os.path.dirname(file) or os.curdir for file in files)]))


def read_decision_records(here: Project, only: str | None, first_commit_ms: Callable[[str], int]) -> SourceReading:
    """Read the decision records of a project. only: one folder instead of the usual places. Raises UsageError."""
    reading = SourceReading(ADR, f"{here.identity}/", repository=here.identity)
    reading.is_whole = False  # records are archived by their files, as all Markdown
    reading.folder, reading.namespaces = only or here.root, (DECISIONS,)
    reading.missing = (f"{only or here.root} has no folder of decision records", "name it: subcog import --from adr FOLDER")
    if only and not os.path.isdir(only):
        raise UsageError(*reading.missing)
    folders, loose = ([os.path.abspath(only)], []) if only else find_record_places(here.root, reading)
    inside = folders[0] if only and leads_out(folders[0], here.root) else here.root
    files = [file for folder in folders for file in importing.find_markdown_files(os.path.join(here.root, folder))]
    walked = [name.lower() for folder in folders for _, _, names in os.walk(os.path.join(here.root, folder)) for name in names]
    reading.left_out["is no Markdown (.adoc, .rst)"] += sum(name.endswith((".adoc", ".asciidoc", ".rst")) for name in walked)
    reading.left_out = +reading.left_out
    seen: set[str] = set()
    options = ImportOptions(project=here.identity, is_repositorys=True, first_commit_ms=first_commit_ms)
    for file in (*files, *(os.path.join(here.root, name) for name in loose)):
        location = importing.name_in_sources(file, here.root)
        if location in seen or not (text_and_time := read_source_text(file, reading, inside=inside, of="the repository")):
            continue
        seen.add(location)
        if "template" in os.path.basename(location).lower():
            reading.left_out["is a template"] += 1
        elif not is_decision_record(text_and_time[0], f"{os.path.basename(folders[0])}/{location}" if only else location):
            reading.left_out["is no decision record by its name or its headings"] += 1
        else:
            reading.files.add(location)
            for row in importing.section_rows(text_and_time[0], location, options):  # with the ids of `subcog import FILE`
                reading.rows.append((location, row))
                reading.kinds[row.memory.namespace if row.memory.status == "active" else row.memory.status] += 1
    return reading


MAX_SHALLOW = 1_000_000  # bytes of .git/shallow
MAX_COMMITS = 100_000  # the newest commits; Linux has a million
LIMIT_S = 10.0  # seconds; without an answer the texts stay undated

_FIRST_COMMITS = (
    *("log", "-z", "--no-show-signature", "--no-ext-diff", "--no-textconv", "--no-notes", "--no-color"),
    *("--no-mailmap", "--no-decorate", "--no-graph", f"--max-count={MAX_COMMITS}"),
    *("--reverse", "--diff-filter=AR", "--find-renames=100%", "--name-status", "--format=%x01%H %ct"),
    *("--", "*.md", "*.mdc", "*.mdx", "*.markdown", ".cursorrules", ".windsurfrules"),
)


def first_commit_reader(root: str, environment: Mapping[str, str]) -> Callable[[str], int]:
    """Return a function from a file's name to the time of its first commit, in milliseconds since the epoch, UNDATED for none.

    Git is asked once, at the first call. A renamed file keeps its date. The oldest commits of a shallow clone tell none.
    """
    read_times = cache(lambda: _read_times(root, environment))
    return lambda file_name: read_times().get(file_name, UNDATED)


_GIT = ("--no-pager", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "protocol.allow=never")
_ENVIRONMENT = {  # git fetches no object, asks nobody and writes nothing
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_ALLOW_PROTOCOL": "none",
}


def _read_times(root: str, environment: Mapping[str, str]) -> dict[str, int]:
    shallow = frozenset[str]()
    with suppress(OSError, IndexError):
        listed = read_regular(os.path.join(project.git_folders(root)[-1], "shallow"), MAX_SHALLOW)
        shallow = frozenset(listed.decode("ascii", "replace").split())
    program = child_environment.find_program("git")
    if program is None or not leads_out(program, root):
        return {}
    try:
        printed = subprocess.run(
            [program, *_GIT, "-C", root, *_FIRST_COMMITS],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**child_environment.filter_environment(child_environment.SYSTEM, environment), **_ENVIRONMENT},
            timeout=LIMIT_S,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    times: dict[str, int] = {}
    commit_ms = UNDATED
    fields = iter(printed.decode("utf-8", "replace").split("\0"))
    for field in fields:
        if field.startswith("\x01"):
            commit, _, seconds = field[1:].strip().partition(" ")
            commit_ms = int(seconds) * 1000 if seconds.isdecimal() and commit not in shallow else UNDATED
        elif field.strip().startswith("R"):
            before = next(fields, "")
            times[next(fields, "")] = times.get(before, commit_ms)
        elif field.strip() == "A":
            times.setdefault(next(fields, ""), commit_ms)
    return times
