"""Notes in other programs' files: Codex' handbook, basic-memory, memsearch's day files, and the playbooks of cass-memory.

The layouts are those of `codex-rs/memories/write` of openai/codex, `docs/NOTE-FORMAT.md` of basicmachines-co/basic-memory
0.18.0, memsearch's plugin (`stop.sh`, `memsearch compact`) and `src/types.ts` of Dicklesworthstone/cass_memory_system.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping

from subcog_hooks.capture import markdown
from subcog_hooks.capture.importing import find_markdown_files
from subcog_hooks.capture.markdown_document import parse_status
from subcog_hooks.capture.repository_files import MAX_MARKDOWN
from subcog_hooks.capture.sources.foreign_database import milliseconds_value
from subcog_hooks.capture.sources.source_reading import (
    BY_AGENT,
    BY_MACHINE,
    BY_PERSON,
    SourceReading,
    owner_of,
    project_of,
    read_source_text,
    valid_tags,
)
from subcog_hooks.capture.written_dates import parse_date_ms
from subcog_hooks.core.errors import UsageError
from subcog_hooks.core.files import leads_out, read_regular
from subcog_hooks.store.memory import AGENT, hash_content
from subcog_hooks.store.project import Project

CODEX, BASIC_MEMORY, MEMSEARCH, CASS = "codex", "basic-memory", "memsearch", "cass"
HANDBOOK = "MEMORY.md"

_GROUP = re.compile(r"^# Task Group:[ \t]*(.+)$", re.MULTILINE)
_GROUP_FOLDER = re.compile(r"^applies_to:.*?\bcwd=([^;\n]+)", re.MULTILINE)
_HEADING = re.compile(r"^##[ \t]+(.+)$", re.MULTILINE)
_BULLET = re.compile(r"^- (.+(?:\n(?!- |#).+|\n(?=\n+[ \t]))*)", re.MULTILINE)  # with its indented paragraphs
_TASK = re.compile(r"\s*\[Task \d+\]")
_HANDBOOK_SECTIONS = {  # by the start of a heading: kind, namespace
    "user preferences": ("preference", "patterns"),
    "reusable knowledge": ("knowledge", "learnings"),
    "failures": ("failure", "learnings"),
}


def codex_folder(environment: Mapping[str, str]) -> str:
    """Return the folder of Codex' memories."""
    return os.path.join(environment.get("CODEX_HOME") or _in_home(".codex"), "memories")


def _in_home(folder: str) -> str:
    return os.path.join(os.path.expanduser("~"), folder)


def read_handbook(folder: str) -> SourceReading:
    """Read the handbook that Codex writes about finished sessions, entry by entry. folder: its memories. Raises UsageError.

    A handbook of another layout is read by its headings.
    """
    reading = SourceReading(CODEX)
    file = os.path.join(folder, HANDBOOK)
    if not os.path.isfile(file):
        raise UsageError(f"{file} is not there", "name the folder: subcog import --from codex FOLDER")
    if leads_out(file, folder):
        raise UsageError(f"{file} is a link out of its folder", "name the folder that it leads to")
    reading.begin_store(file, codex_folder({}))
    text_and_time = read_source_text(file, reading)
    if text_and_time is None:
        raise UsageError(f"{file} {next(iter(reading.left_out))}", "look whether it is the file you mean")
    text, changed_ms = text_and_time
    for group, entry_folder, kind, namespace, entry_text in _parse_entries(text):
        owner = reading.repository or owner_of(entry_folder)
        if entry_folder and owner is None:
            reading.left_out[f"is of a folder that is not here ({entry_folder})"] += 1
            continue
        content = f"{group}: {entry_text}"
        location = f"{HANDBOOK}#{hash_content(content)[:12]}"  # entries have no names, and their order changes
        reading.add(kind, location, content, changed_ms, owner, namespace=namespace, trust=AGENT)
    if not _GROUP.search(text) and text.strip():
        reading.add_document("note", HANDBOOK, text.strip(), changed_ms, None, namespace="learnings", trust=AGENT)
    return reading


def _parse_entries(text: str) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield group, folder, kind, namespace and text of the handbook's bullets; its tasks only link to recaps."""
    for group, block in _split_at_headings(_GROUP, text):
        folder_line = _GROUP_FOLDER.search(block)
        folder = os.path.expanduser(folder_line[1].strip().strip("`\"'")) if folder_line else ""
        folder = folder if os.path.isabs(folder) else ""
        for heading, section in _split_at_headings(_HEADING, block):
            name = heading[1].strip().lower()
            for kind, namespace in [value for start, value in _HANDBOOK_SECTIONS.items() if name.startswith(start)]:
                for bullet in _BULLET.finditer(section):
                    has_code = "```" in bullet[1]  # and its lines say something
                    whole = bullet[1].replace("\n  ", "\n") if has_code else " ".join(bullet[1].split())
                    if entry_text := _TASK.sub("", whole).strip():
                        yield group[1].strip(), folder, kind, namespace, entry_text


def _split_at_headings(heading: re.Pattern[str], text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield each heading of a text, with the text up to the next one."""
    headings = list(heading.finditer(text))
    ends = [later.start() for later in headings[1:]] + [len(text)]
    for match, end in zip(headings, ends, strict=False):  # a text can have no heading
        yield match, text[match.end() : end]


MAX_CONFIG = 1_000_000  # bytes of basic-memory's configuration
_NAME_FOLDER = "name the folder: subcog import --from basic-memory FOLDER"
_RELATION = re.compile(r"^[ \t]*- [^\n\[]*\[\[[^\]\n]*\]\][ \t]*(?:\([^\n]*\)[ \t]*)?(?:\n|\Z)", re.MULTILINE)
_EMPTY_HEADING = re.compile(r"^#{2,6} (?:Relations|Observations)[ \t]*\n*(?=#|\Z)", re.MULTILINE)
_OBSERVATION = re.compile(r"^[ \t]*- \[([A-Za-z][\w -]*)\] ", re.MULTILINE)
_NAMESPACES = {"decision": "decisions", "pattern": "patterns", "preference": "patterns", "reference": "context"}


def list_note_folders(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the projects of basic-memory and their note folders. Raises UsageError."""
    file = os.path.join(environment.get("BASIC_MEMORY_CONFIG_DIR") or _in_home(".basic-memory"), "config.json")
    try:
        configuration = json.loads(read_regular(file, MAX_CONFIG).decode("utf-8-sig"))
    except FileNotFoundError:
        return
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{file} cannot be read: {error}", _NAME_FOLDER) from error
    projects = configuration.get("projects") if isinstance(configuration, dict) else None
    for name, value in projects.items() if isinstance(projects, dict) else ():
        path = value.get("path") if isinstance(value, dict) else value  # Older versions write the path alone.
        if isinstance(path, str):
            yield name, os.path.abspath(os.path.expanduser(path))


def read_basic_memory(environment: Mapping[str, str], only: str | None = None) -> SourceReading:
    """Read the notes that agents write and people edit, of all projects. only: one folder instead. Raises UsageError."""
    reading = SourceReading(BASIC_MEMORY)
    reading.is_whole = only is None
    path = os.path.abspath(only or "")
    note_folders = [(os.path.basename(path), path)] if only else list(list_note_folders(environment))
    if not any(os.path.isdir(folder) for _, folder in note_folders):
        raise UsageError(f"{only or 'its configuration'} has no notes of basic-memory", _NAME_FOLDER)
    for name, folder in note_folders:
        try:
            is_empty = not os.listdir(folder)
        except OSError:
            is_empty = True
        if is_empty:  # It cannot tell which notes are gone: its disk could be missing.
            reading.unread.append(f"{name}/")
            reading.remarks.append(f"{folder} is missing, empty or cannot be listed: memories from there stay")
            continue
        reading.begin_store(folder, _in_home(BASIC_MEMORY))
        owner = project_of(folder)
        for file in find_markdown_files(folder):
            location = f"{name}/{os.path.relpath(file, folder)}".replace(os.sep, "/")
            if text_and_time := read_source_text(file, reading, inside=folder):
                _add_note(location, *text_and_time, owner, reading)
    return reading


def _add_note(location: str, text: str, changed_ms: int, owner: str | None, reading: SourceReading) -> None:
    fields, body = markdown.parse_front_matter(text)
    kind, title = markdown.first_value(fields, "type").lower() or "note", markdown.first_value(fields, "title")
    content = _EMPTY_HEADING.sub("", _RELATION.sub("", body)).strip()
    if parse_status(markdown.first_value(fields, "status")).has_ended:
        reading.left_out["is replaced or rejected by its own words"] += 1
        return
    if not re.sub(r"^#[^\n]*\n*", "", content).strip():
        reading.left_out["is empty"] += 1
        return
    kinds = {kind, *(match[1].lower() for match in _OBSERVATION.finditer(content))}
    content = content if content.startswith("# ") or not title else f"# {title}\n\n{content}"
    at_ms = parse_date_ms(markdown.first_value(fields, "modified") or markdown.first_value(fields, "created")) or changed_ms
    namespace = next((space for name, space in _NAMESPACES.items() if name in kinds), "learnings")
    tags = valid_tags(tag.lstrip("#").strip() for tag in fields.get("tags", []))
    is_of_session = markdown.first_value(fields, "capture") in ("extractive", "summarized")  # A hook made it.
    author = BY_MACHINE if is_of_session else BY_AGENT
    reading.add_document(kind, location, content, at_ms, owner, namespace=namespace, tags=tags, **author)


_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})\.md$")
_TURN = re.compile(r"^#{2,3} (?:Session |Memory Compact )?(\d{2}:\d{2})[ \t]*$", re.MULTILINE)
_ANCHOR = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)


def memsearch_folder(environment: Mapping[str, str], here: Project | None) -> str:
    """Return the folder of memsearch's notes about the current project, "" outside of any."""
    folder = environment.get("MEMSEARCH_DIR") or (os.path.join(here.root, ".memsearch") if here else "")
    return os.path.join(folder, "memory") if folder else ""


def find_day_files(folder: str) -> list[str]:
    """Return memsearch's day files, oldest first."""
    try:
        return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if _DAY.fullmatch(name)]
    except OSError:
        return []


def read_day_files(folder: str, here: Project | None) -> SourceReading:
    """Read memsearch's day files, in which its hook summarises each turn of a session. Raises UsageError."""
    owner = project_of(os.path.abspath(folder)) or (here.identity if here else None)
    reading = SourceReading(MEMSEARCH, f"{owner}/" if owner else "")
    files = find_day_files(folder) or find_day_files(os.path.join(folder, "memory"))
    if not files:
        raise UsageError(f"{folder} has no day files of memsearch", "name the folder: subcog import --from memsearch FOLDER")
    reading.begin_store(folder)
    for file in files:
        text_and_time = read_source_text(file, reading, inside=folder)
        name, seen = os.path.basename(file), Counter[str]()
        for heading, body in _split_at_headings(_TURN, text_and_time[0] if text_and_time else ""):
            time, summary = heading[1], _ANCHOR.sub("", body).strip()
            seen[time] += 1
            if summary.startswith("- Memory summary unavailable"):
                reading.left_out["is a summary that failed"] += 1
            elif summary:
                location, at_ms = f"{name}#{time}#{seen[time]}", parse_date_ms(f"{name[:10]} {time}") or 0
                kind = "summary" if "Compact" in heading[0] else "turn"
                reading.add_document(kind, location, summary, at_ms, owner, namespace="progress", **BY_MACHINE)
    return reading


PLAYBOOK = "playbook.yaml"
REPOSITORY_FOLDER = ".cass"
MAX_YAML_DEPTH = 50  # nested lists; a rule needs four
MAX_YAML_EVENTS = 500_000  # parser events: 200 MB, or some ten thousand rules
_YAML_NULLS = ("null", "Null", "NULL", "~")  # https://yaml.org/spec/1.2.2/#103-core-schema
_LOOK_AT_FILE = "look whether it is the file you mean"


def find_playbooks(environment: Mapping[str, str], here: Project | None) -> list[str]:
    """Return the existing playbooks of cass-memory: the person's, and the current repository's."""
    data = environment.get("XDG_DATA_HOME", "")
    folders = [_in_home(".cass-memory"), *([os.path.join(data, "cass-memory")] if os.path.isabs(data) else [])]
    folders += [os.path.join(here.root, REPOSITORY_FOLDER)] if here else []
    return [file for folder in folders if os.path.isfile(file := os.path.join(folder, PLAYBOOK))]


def read_playbooks(environment: Mapping[str, str], here: Project | None, only: str | None = None) -> SourceReading:
    """Read the rules of the playbooks. only: one playbook. Raises UsageError."""
    reading = SourceReading(CASS)
    reading.is_whole = False  # rules of another repository's playbook are not gone
    playbooks = [only] if only else find_playbooks(environment, here)
    if not playbooks:
        raise UsageError(f"there is no {PLAYBOOK} of cass-memory", "name the file: subcog import --from cass FILE")
    for file in playbooks:
        is_repositorys = here is not None and not leads_out(os.path.abspath(file), here.root)
        if not only and os.path.basename(os.path.dirname(file)) == REPOSITORY_FOLDER and not is_repositorys:
            reading.left_out["is a link out of the repository"] += 1
            continue
        try:
            reading.begin_store(file, _in_home(".cass-memory"))
            bullets = _parse_rules(file)
        except UsageError as error:
            if len(playbooks) == 1:
                raise
            reading.remarks.append(str(error))  # the other playbook is still read
            continue
        for bullet in bullets:
            _add_rule(bullet, reading)
    return reading


def _parse_rules(file: str) -> list[Mapping[str, object]]:
    import yaml  # takes 15 ms, which only this source needs

    # the C loader, if built, is ten times as fast; every value is a text
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    depth = events = 0
    try:
        raw = read_regular(file, MAX_MARKDOWN + 1)
        if len(raw) > MAX_MARKDOWN:
            raise UsageError(f"{file} has more than {MAX_MARKDOWN:,} bytes", _LOOK_AT_FILE)
        text = raw.decode("utf-8-sig")
        for event in yaml.parse(text, Loader=loader):  # deep nesting would crash the loader, so events come first
            events += 1
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_YAML_DEPTH:
                raise UsageError(f"{file} is nested more than {MAX_YAML_DEPTH} deep", _LOOK_AT_FILE)
            if events > MAX_YAML_EVENTS:
                raise UsageError(f"{file} has more than {MAX_YAML_EVENTS:,} values", _LOOK_AT_FILE)
        parsed = yaml.load(text, Loader=loader)  # noqa: S506 - it makes texts, lists and mappings alone
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}", _LOOK_AT_FILE) from error
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise UsageError(f"{file} is no YAML: {' '.join(str(error).split())[:200]}", _LOOK_AT_FILE) from error
    bullets = parsed.get("bullets") if isinstance(parsed, dict) else None
    if not isinstance(bullets, list):
        raise UsageError(f"{file} has no list of bullets: it is no playbook of cass-memory", _LOOK_AT_FILE)
    rules: list[Mapping[str, object]] = [bullet for bullet in bullets if isinstance(bullet, dict)]
    if sum(len(_rule_text(rule, "content")) for rule in rules) > MAX_MARKDOWN:  # aliases can repeat a text a thousand times
        raise UsageError(f"{file} says more than its {MAX_MARKDOWN:,} bytes can hold", _LOOK_AT_FILE)
    return rules


def _rule_text(bullet: Mapping[str, object], name: str) -> str:
    """Return a value of a rule, "" for YAML's words for null."""
    value = bullet.get(name)
    return "" if not isinstance(value, str) or value in _YAML_NULLS else value.strip()


def _add_rule(bullet: Mapping[str, object], reading: SourceReading) -> None:
    """Add a rule: an established one is an agent's, a pinned one the person's, a draft a machine's guess."""
    names = "id content state deprecated maturity replacedBy scope workspace pinned kind type category scopeKey".split()
    rule = {name: _rule_text(bullet, name) for name in names}
    is_retired = rule["state"] == "retired" or rule["deprecated"].lower() == "true" or rule["maturity"] == "deprecated"
    if is_retired or rule["replacedBy"]:
        reading.left_out["is retired or replaced there"] += 1
        return
    if not rule["content"] or not rule["id"]:
        reading.left_out["is empty"] += 1
        return
    owner = None
    if rule["scope"] == "workspace" and not reading.repository:
        owner = owner_of(os.path.expanduser(rule["workspace"]))
        if owner is None:
            reading.left_out[f"is about a folder that is not here ({rule['workspace']})"] += 1
            return
    is_draft = rule["state"] in ("", "draft")
    author = BY_PERSON if rule["pinned"].lower() == "true" else BY_MACHINE if is_draft else BY_AGENT
    kind = rule["kind"] or rule["type"] or "rule"
    namespace = "learnings" if kind == "anti_pattern" else "patterns"
    listed = bullet.get("tags")
    tags = valid_tags([rule["category"], rule["scopeKey"], *(listed if isinstance(listed, list) else [])])
    fields = {"namespace": namespace, "tags": tags, **author}
    reading.add(kind, rule["id"], rule["content"], milliseconds_value(bullet, "createdAt", "updatedAt"), owner, **fields)
