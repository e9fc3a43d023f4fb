"""cass-memory: the rules of its playbooks, the person's and the repository's, which are YAML, or JSON, which YAML includes.

The fields are those of `src/types.ts` of Dicklesworthstone/cass_memory_system. A rule that has proven itself there is an
agent's, a pinned one the person's, a draft a machine's guess.
"""

import os
from collections.abc import Mapping

from subcog_hooks.capture import markdown
from subcog_hooks.capture.import_files import MAX_MARKDOWN
from subcog_hooks.capture.sources.source_reading import SourceReading, identity_of
from subcog_hooks.core.errors import UsageError
from subcog_hooks.core.regular_files import leads_out, read_regular
from subcog_hooks.store import project
from subcog_hooks.store.memory import AGENT, MAX_ENTRY, MAX_LIST, PENDING
from subcog_hooks.store.project import Project

CASS = "cass"
PLAYBOOK = "playbook.yaml"
REPOSITORY_FOLDER = ".cass"
MAX_DEPTH = 50  # lists within lists; a rule needs four
MAX_EVENTS = 500_000  # of the parser: 200 MB, and some ten thousand rules

_NONE = ("null", "Null", "NULL", "~")  # https://yaml.org/spec/1.2.2/#103-core-schema
_KINDS = {
    "project_convention": "patterns",
    "workflow_rule": "patterns",
    "stack_pattern": "patterns",
    "anti_pattern": "learnings",
}


def files(environment: Mapping[str, str], here: Project | None) -> list[str]:
    """Return the playbooks that are there: the person's, and that of the repository at hand."""
    data = environment.get("XDG_DATA_HOME", "")
    folders = [_persons_folder(), *([os.path.join(data, "cass-memory")] if os.path.isabs(data) else [])]
    found = [os.path.join(folder, PLAYBOOK) for folder in folders] + (
        [os.path.join(here.root, REPOSITORY_FOLDER, PLAYBOOK)] if here else []
    )
    return [file for file in found if os.path.isfile(file)]


def _persons_folder() -> str:
    return os.path.join(os.path.expanduser("~"), ".cass-memory")


def read(environment: Mapping[str, str], here: Project | None, only: str | None = None) -> SourceReading:
    """Return the rules of the playbooks. only: one playbook. Raises UsageError."""
    reading = SourceReading(CASS)
    reading.is_whole = False  # a rule that was in the playbook of another repository has not gone
    found = [only] if only else files(environment, here)
    if not found:
        raise UsageError(f"there is no {PLAYBOOK} of cass-memory", "name the file: subcog import --from cass FILE")
    for file in found:
        is_repositorys = here is not None and not leads_out(os.path.abspath(file), here.root)
        if not only and os.path.basename(os.path.dirname(file)) == REPOSITORY_FOLDER and not is_repositorys:
            reading.left_out["is a link out of the repository"] += 1
            continue
        try:
            reading.begin_store(file, _persons_folder())
            bullets = _bullets(file)
        except UsageError as error:
            if len(found) == 1:
                raise
            reading.remarks.append(str(error))  # the other playbook is read all the same
            continue
        for bullet in bullets:
            _add_bullet(bullet, reading)
    return reading


def _bullets(file: str) -> list[Mapping[str, object]]:
    """Return the rules of a playbook. Raises UsageError where it is none."""
    import yaml  # 15 ms, for this one source; what looks for secrets brings it

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # ten times as fast, where it was built; every value is a text
    depth = number = 0
    advice = "look whether it is the file you mean"
    try:
        raw = read_regular(file, MAX_MARKDOWN + 1)
        if len(raw) > MAX_MARKDOWN:
            raise UsageError(f"{file} has more than {MAX_MARKDOWN:,} bytes", advice)
        text = raw.decode("utf-8-sig")
        for event in yaml.parse(text, Loader=loader):  # events first: what is nested too deep ends the process in the loader
            number += 1
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                raise UsageError(f"{file} is nested more than {MAX_DEPTH} deep", advice)
            if number > MAX_EVENTS:
                raise UsageError(f"{file} has more than {MAX_EVENTS:,} values", advice)
        said = yaml.load(text, Loader=loader)  # noqa: S506 - it makes texts, lists and mappings alone
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}", advice) from error
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise UsageError(f"{file} is no YAML: {' '.join(str(error).split())[:200]}", advice) from error
    bullets = said.get("bullets") if isinstance(said, dict) else None
    if not isinstance(bullets, list):
        raise UsageError(f"{file} has no list of bullets: it is no playbook of cass-memory", advice)
    rules: list[Mapping[str, object]] = [bullet for bullet in bullets if isinstance(bullet, dict)]
    if sum(len(_text(rule, "content")) for rule in rules) > MAX_MARKDOWN:  # aliases say the same thing a thousand times
        raise UsageError(f"{file} says more than its {MAX_MARKDOWN:,} bytes can hold", advice)
    return rules


def _add_bullet(bullet: Mapping[str, object], reading: SourceReading) -> None:
    content, state = _text(bullet, "content"), _text(bullet, "state") or "draft"
    is_retired = state == "retired" or _is_true(bullet, "deprecated") or _text(bullet, "maturity") == "deprecated"
    if is_retired or _text(bullet, "replacedBy"):
        reading.left_out["is retired or replaced there"] += 1
        return
    if not content or not _text(bullet, "id"):
        reading.left_out["is empty"] += 1
        return
    owner = None
    if _text(bullet, "scope") == "workspace" and not reading.repository:
        workspace = _text(bullet, "workspace")
        owner = _owner_of(os.path.expanduser(workspace))
        if owner is None:
            reading.left_out[f"is about a folder that is not here ({workspace})"] += 1
            return
    is_persons, is_draft = _is_true(bullet, "pinned"), state == "draft"
    trust, status = ("import", "active") if is_persons else ("tool", PENDING) if is_draft else (AGENT, "active")
    kind = _text(bullet, "kind") or _text(bullet, "type") or "rule"
    reading.add(
        kind,
        _text(bullet, "id"),
        content,
        markdown.milliseconds_since_epoch(_text(bullet, "createdAt")) or 0,
        owner,
        namespace=_KINDS.get(kind, "patterns"),
        tags=_tags(bullet),
        trust=trust,
        status=status,
    )


def _owner_of(workspace: str) -> str | None:
    is_there = os.path.isabs(workspace) and os.path.isdir(workspace)
    return identity_of(project.find_project(workspace)) if is_there else None


def _text(bullet: Mapping[str, object], name: str) -> str:
    """Return a value of a rule, "" where it is none; YAML writes that as a word, too."""
    value = bullet.get(name)
    return "" if not isinstance(value, str) or value in _NONE else value.strip()


def _is_true(bullet: Mapping[str, object], name: str) -> bool:
    return _text(bullet, name).lower() == "true"


def _tags(bullet: Mapping[str, object]) -> tuple[str, ...]:
    said = bullet.get("tags")
    named = [_text(bullet, "category"), _text(bullet, "scopeKey"), *(said if isinstance(said, list) else [])]
    return tuple(dict.fromkeys(tag for tag in named if isinstance(tag, str) and 0 < len(tag) <= MAX_ENTRY))[:MAX_LIST]
