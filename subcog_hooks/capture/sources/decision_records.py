"""Decision records of the current repository, in the usual folders or the folder of adr-tools.

They are read as by `subcog import FOLDER`, with the same status, date and ids, so each record is stored once.
"""

import os
from collections.abc import Iterator

from subcog_hooks.capture import importing, markdown
from subcog_hooks.capture.sources.source_reading import SourceReading, read_source_text
from subcog_hooks.core.errors import UsageError
from subcog_hooks.core.regular_files import leads_out, read_regular
from subcog_hooks.store.project import Project

ADR = "adr"
MAX_FOLDER_NAME = 4_096  # bytes of .adr-dir
_PARENTS = ("", "doc/", "docs/", "docs/architecture/", "doc/architecture/", "architecture/", "docs/dev/", "docs/development/")
_NAMES = ("adr", "adrs", ".adr", "decisions", "decision-records", "architecture-decisions", "architecture-decision-records")
_FOLDERS = frozenset(parent + name for parent in _PARENTS for name in _NAMES)


def find_record_folders(root: str) -> list[str]:
    """Return the folders of a repository that hold decision records, relative to its root."""
    return list(dict.fromkeys([*filter(None, [_configured_folder(root)]), *_find_usual_folders(root, "")]))


def _configured_folder(root: str) -> str:
    try:
        name = read_regular(os.path.join(root, ".adr-dir"), MAX_FOLDER_NAME).decode("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
    path = os.path.normpath(os.path.join(root, name)) if name and name.isprintable() else ""
    is_inside = path != root and os.path.isdir(path) and not leads_out(path, root)
    return os.path.relpath(path, root).replace(os.sep, "/") if is_inside else ""


def _find_usual_folders(root: str, below: str) -> Iterator[str]:
    try:
        names = sorted(os.listdir(os.path.join(root, below)))
    except OSError:
        return
    for name in names:
        path = below + name
        if path.lower() in _FOLDERS and os.path.isdir(os.path.join(root, path)):
            yield path
        elif any(folder.startswith(f"{path.lower()}/") for folder in _FOLDERS):
            yield from _find_usual_folders(root, f"{path}/")


def read_decision_records(here: Project, only: str | None = None) -> SourceReading:
    """Read the decision records of a project. only: one folder instead of the usual ones. Raises UsageError."""
    reading = SourceReading(ADR, f"{here.identity}/")
    reading.is_whole = False  # records are archived by their files, as all Markdown
    record_folders = (
        [os.path.abspath(only)] if only else [os.path.join(here.root, name) for name in find_record_folders(here.root)]
    )
    if not record_folders or (only and not os.path.isdir(only)):
        raise UsageError(f"{only or here.root} has no folder of decision records", "name it: subcog import --from adr FOLDER")
    for folder in record_folders:
        inside = here.root if not leads_out(folder, here.root) else folder
        if inside is folder and not only:
            reading.left_out["is a link out of the repository"] += 1
            continue
        for file in importing.find_markdown_files(folder):
            location = importing.name_in_sources(file, here.root)
            if leads_out(file, inside):
                reading.left_out["is a link out of the repository"] += 1
            elif location not in reading.files and (text_and_time := read_source_text(file, reading)):
                _add_record(location, *text_and_time, here, reading)
    return reading


def _add_record(location: str, text: str, changed_ms: int, here: Project, reading: SourceReading) -> None:
    title = os.path.splitext(os.path.basename(location))[0]
    if "template" in title.lower():
        reading.left_out["is a template"] += 1
    elif markdown.suggest_namespace(title, text) != markdown.DECISIONS:
        reading.left_out["is no decision record by its name or its headings"] += 1
    else:
        reading.add_file(location, text, changed_ms, here.identity)
