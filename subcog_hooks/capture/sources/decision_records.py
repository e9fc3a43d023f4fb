"""Decision records of the current repository: in the usual folders of it and its packages, or under the usual names.

They are read as by `subcog import FOLDER`, with the same status, date and ids, so each record is stored once.
"""

import os
import re
from collections.abc import Iterator

from subcog_hooks.capture import importing
from subcog_hooks.capture.decision_record import in_record_folder
from subcog_hooks.capture.markdown_document import DECISIONS, FileDates, is_decision_record
from subcog_hooks.capture.sections import MARKDOWN_SUFFIXES
from subcog_hooks.capture.sources.source_reading import SourceReading, read_source_text, walk_folders
from subcog_hooks.core.errors import UsageError
from subcog_hooks.core.files import leads_out, read_regular
from subcog_hooks.store.memory import REJECTED
from subcog_hooks.store.project import Project

ADR = "adr"
MAX_CONFIGURATION = 100_000  # bytes of .adr-dir or .log4brains.yml
MAX_CONFIGURED = 200  # folders
_LOG4BRAINS_FOLDER = re.compile(r"^[ \t-]*adrFolder[ \t]*:[ \t]*[\"']?([^\"'#\n]+)", re.MULTILINE)
_HIDDEN = frozenset((".adr", ".agents"))
_TESTED = re.compile(r"(?:^|[/_-])(?:tests?|testdata|fixtures?|examples?|mocks?)(?=$|[/_-])", re.IGNORECASE)
_LOOSE_RECORD = re.compile(r"(?:adr|mdr)[-_]?\d+[-_.]|.*/architecture/\d{3,4}[-_]\w", re.IGNORECASE)
_OTHER_MARKUP = (".adoc", ".asciidoc", ".rst")


def find_record_places(root: str, reading: SourceReading | None = None) -> tuple[list[str], list[str]]:
    """Return the folders of a repository that hold decision records by their names or its configuration, and the files beside.

    All are relative to its root. reading: as in `walk_folders`.
    """
    folders = list(_configured_folders(root))
    files: list[str] = []
    for folder, names in walk_folders(root, _HIDDEN, reading):
        if _TESTED.search(folder) or any(folder == found or folder.startswith(f"{found}/") for found in folders):
            continue
        if in_record_folder(f"{folder}/record.md"):
            if any(importing.find_markdown_files(os.path.join(root, folder))):
                folders.append(folder)
        else:
            paths = (f"{folder}/{name}".lstrip("/") for name in names if name.lower().endswith(MARKDOWN_SUFFIXES))
            files += [path for path in paths if _LOOSE_RECORD.match(path) or _LOOSE_RECORD.match(os.path.basename(path))]
    folders += [link for link in _linked_folders(root) if link not in folders]
    return folders, files


def describe_record_places(root: str) -> str:
    """Return the folders that hold decision records, separated by commas."""
    folders, files = find_record_places(root)
    return ", ".join(dict.fromkeys([*folders, *(os.path.dirname(file) or os.curdir for file in files)]))


def _configured_folders(root: str) -> Iterator[str]:
    """Yield the folders that adr-tools and log4brains are told to use, if they lie in the repository."""
    names = [_read_configuration(root, ".adr-dir").strip()]
    names += _LOG4BRAINS_FOLDER.findall(_read_configuration(root, ".log4brains.yml"))[:MAX_CONFIGURED]
    for name in dict.fromkeys(map(str.strip, names)):
        path = os.path.normpath(os.path.join(root, name)) if name and name.isprintable() else root
        if path != root and os.path.isdir(path) and not leads_out(path, root):
            yield os.path.relpath(path, root).replace(os.sep, "/")


def _read_configuration(root: str, name: str) -> str:
    try:
        return read_regular(os.path.join(root, name), MAX_CONFIGURATION).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _linked_folders(root: str) -> Iterator[str]:
    """Yield the usual folders at the top and in `docs` that are links; they are followed inside of the repository only."""
    for above in ("", "doc/", "docs/"):
        for name in ("adr", "adrs", "decisions"):
            if os.path.islink(os.path.join(root, above, name)) and os.path.isdir(os.path.join(root, above, name)):
                yield above + name


def read_decision_records(here: Project, only: str | None, dates: FileDates) -> SourceReading:
    """Read the decision records of a project. only: one folder instead of the usual places. Raises UsageError."""
    reading = SourceReading(ADR, f"{here.identity}/", repository=here.identity)
    reading.is_whole = False  # records are archived by their files, as all Markdown
    reading.folder, reading.namespaces = only or here.root, (DECISIONS, REJECTED)
    reading.missing = (f"{only or here.root} has no folder of decision records", "name it: subcog import --from adr FOLDER")
    if only and not os.path.isdir(only):
        raise UsageError(*reading.missing)
    folders, loose = ([os.path.abspath(only)], []) if only else find_record_places(here.root, reading)
    texts: dict[str, str] = {}
    for folder in folders:
        path = os.path.join(here.root, folder)
        inside = here.root if not leads_out(path, here.root) else path
        if inside is path and not only:
            reading.left_out["is a link out of the repository"] += 1
        else:
            _read_texts(importing.find_markdown_files(path), inside, here, reading, texts)
            reading.left_out["is no Markdown (.adoc, .rst)"] += sum(
                name.lower().endswith(_OTHER_MARKUP) for _, _, names in os.walk(path) for name in names
            )
    _read_texts((os.path.join(here.root, file) for file in loose), here.root, here, reading, texts)
    reading.left_out = +reading.left_out
    dates = dates.with_order_of(texts.values())
    for location, text in texts.items():
        if "template" in os.path.basename(location).lower():
            reading.left_out["is a template"] += 1
        elif not is_decision_record(text, location if not only else f"{os.path.basename(folders[0])}/{location}"):
            reading.left_out["is no decision record by its name or its headings"] += 1
        else:
            reading.add_file(location, text, dates)
    return reading


def _read_texts(files: Iterator[str], inside: str, here: Project, reading: SourceReading, texts: dict[str, str]) -> None:
    for file in files:
        location = importing.name_in_sources(file, here.root)
        text_and_time = None if location in texts else read_source_text(file, reading, inside=inside, of="the repository")
        if text_and_time:
            texts[location] = text_and_time[0]
