"""Decision records of the repository at hand, in the folders where teams keep them, or in the one that adr-tools was told.

They are read as `subcog import FOLDER` reads them: status, date and ids are the same, so that a record is there once.
"""

import os
from collections.abc import Iterator

from subcog_hooks.capture import import_files, markdown
from subcog_hooks.capture.sources.source_reading import SourceReading, read_text
from subcog_hooks.core.errors import UsageError
from subcog_hooks.core.regular_files import leads_out, read_regular
from subcog_hooks.store.project import Project

ADR = "adr"
ADR_TOOLS_FILE = ".adr-dir"  # at the repository's root: names the folder, as `adr init FOLDER` writes it
LONGEST_NAME = 4_096  # bytes of it
_PARENTS = ("", "doc/", "docs/", "docs/architecture/", "doc/architecture/", "architecture/", "docs/dev/", "docs/development/")
_NAMES = ("adr", "adrs", ".adr", "decisions", "decision-records", "architecture-decisions", "architecture-decision-records")
_FOLDERS = frozenset(parent + name for parent in _PARENTS for name in _NAMES)


def folders(root: str) -> list[str]:
    """Return the folders of a repository that hold decision records, by their names from its root."""
    named = _named_folder(root)
    found = dict.fromkeys([named] if named else [])
    found.update(dict.fromkeys(_usual_folders(root, "")))
    return list(found)


def _named_folder(root: str) -> str:
    """Return the folder that adr-tools was told, "" where it was told none in this repository."""
    try:
        name = read_regular(os.path.join(root, ADR_TOOLS_FILE), LONGEST_NAME).decode("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
    path = os.path.normpath(os.path.join(root, name)) if name and name.isprintable() else ""
    is_inside = path != root and os.path.isdir(path) and not leads_out(path, root)
    return os.path.relpath(path, root).replace(os.sep, "/") if is_inside else ""


def _usual_folders(root: str, below: str) -> Iterator[str]:
    """Yield the folders of usual names, in whatever case. below: what is looked into, with its slash."""
    try:
        names = sorted(os.listdir(os.path.join(root, below)))
    except OSError:
        return
    for name in names:
        path = below + name
        if path.lower() in _FOLDERS and os.path.isdir(os.path.join(root, path)):
            yield path
        elif any(folder.startswith(f"{path.lower()}/") for folder in _FOLDERS):
            yield from _usual_folders(root, f"{path}/")


def read(here: Project, only: str | None = None) -> SourceReading:
    """Return the decision records of a project. only: one folder instead of the usual ones. Raises UsageError."""
    reading = SourceReading(ADR, f"{here.identity}/")
    reading.is_whole = False  # they are known by their files, as every Markdown file is
    found = [os.path.abspath(only)] if only else [os.path.join(here.root, folder) for folder in folders(here.root)]
    if not found or (only and not os.path.isdir(only)):
        raise UsageError(f"{only or here.root} has no folder of decision records", "name it: subcog import --from adr FOLDER")
    for folder in found:
        inside = here.root if not leads_out(folder, here.root) else folder
        if inside is folder and not only:
            reading.left_out["is a link out of the repository"] += 1
            continue
        for file in import_files.markdown_files(folder):
            place = import_files.place_of(file, here.root)
            if leads_out(file, inside):
                reading.left_out["is a link out of the repository"] += 1
            elif place not in reading.files and (held := read_text(file, reading)):
                _add_record(place, *held, here, reading)
    return reading


def _add_record(place: str, text: str, changed: int, here: Project, reading: SourceReading) -> None:
    title = os.path.splitext(os.path.basename(place))[0]
    if "template" in title.lower():
        reading.left_out["is a template"] += 1
    elif markdown.suggest_namespace(title, text) != markdown.DECISIONS:
        reading.left_out["is no decision record by its name or its headings"] += 1
    else:
        reading.add_file(place, text, changed, here.identity)
