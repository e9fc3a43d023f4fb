"""cass-memory: the rules of its playbooks, the person's and the repository's, which are YAML, or JSON, which YAML includes.

The fields are those of `src/types.ts` of Dicklesworthstone/cass_memory_system. A rule that has proven itself there is an
agent's, a pinned one the person's, a draft a machine's guess.
"""

import os
from collections.abc import Mapping

from subcog_hooks.capture import markdown
from subcog_hooks.capture.import_files import MAX_MARKDOWN
from subcog_hooks.capture.sources.foreign_database import text_of
from subcog_hooks.capture.sources.reading import SourceReading, identity_of
from subcog_hooks.errors import UsageError
from subcog_hooks.memory import project
from subcog_hooks.memory.model import AGENT, MAX_ENTRY, MAX_LIST, PENDING
from subcog_hooks.memory.project import Project
from subcog_hooks.regular_files import leads_out, read_regular

CASS = "cass"
PLAYBOOK = "playbook.yaml"
REPOSITORY_FOLDER = ".cass"
MAX_DEPTH = 50  # lists within lists; a rule needs four

_KINDS = {
    "project_convention": "patterns",
    "workflow_rule": "patterns",
    "stack_pattern": "patterns",
    "anti_pattern": "learnings",
}


def files(environment: Mapping[str, str], here: Project | None) -> list[str]:
    """Return the playbooks that are there: the person's, and that of the repository at hand."""
    data = environment.get("XDG_DATA_HOME", "")
    home = os.path.expanduser("~")
    folders = [os.path.join(home, ".cass-memory"), *([os.path.join(data, "cass-memory")] if os.path.isabs(data) else [])]
    found = [os.path.join(folder, PLAYBOOK) for folder in folders] + (
        [os.path.join(here.root, REPOSITORY_FOLDER, PLAYBOOK)] if here else []
    )
    return [file for file in found if os.path.isfile(file)]


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
        owner = here.identity if here and is_repositorys else None
        for bullet in _bullets(file):
            _add_bullet(bullet, owner, reading)
    return reading


def _bullets(file: str) -> list[Mapping[str, object]]:
    """Return the rules of a playbook. Raises UsageError where it is none."""
    import yaml  # 15 ms, for this one source; what looks for secrets brings it

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where it was built
    depth = 0
    advice = "look whether it is the file you mean"
    try:
        raw = read_regular(file, MAX_MARKDOWN + 1)
        if len(raw) > MAX_MARKDOWN:
            raise UsageError(f"{file} has more than {MAX_MARKDOWN:,} bytes", advice)
        text = raw.decode("utf-8-sig")
        for event in yaml.parse(text, Loader=loader):  # events first: what is nested too deep ends the process in the loader
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                raise UsageError(f"{file} is nested more than {MAX_DEPTH} deep", advice)
        said = yaml.load(text, Loader=loader)  # noqa: S506 - a safe loader
    except OSError as error:
        raise UsageError(f"{file} can not be read: {error.strerror}", advice) from error
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise UsageError(f"{file} is no YAML: {' '.join(str(error).split())[:200]}", advice) from error
    bullets = said.get("bullets") if isinstance(said, dict) else None
    if not isinstance(bullets, list):
        raise UsageError(f"{file} has no list of bullets: it is no playbook of cass-memory", advice)
    return [bullet for bullet in bullets if isinstance(bullet, dict)]


def _add_bullet(bullet: Mapping[str, object], owner: str | None, reading: SourceReading) -> None:
    content, state = text_of(bullet, "content"), text_of(bullet, "state") or "draft"
    is_retired = state == "retired" or bullet.get("deprecated") is True or text_of(bullet, "maturity") == "deprecated"
    workspace = text_of(bullet, "workspace")
    if is_retired or text_of(bullet, "replacedBy"):
        reading.left_out["is retired or replaced there"] += 1
        return
    if not content or not text_of(bullet, "id"):
        reading.left_out["is empty"] += 1
        return
    if text_of(bullet, "scope") == "workspace":
        owner = _owner_of(workspace) or owner
        if owner is None:
            reading.left_out[f"is about a folder that is not here ({workspace})"] += 1
            return
    is_persons, is_draft = bullet.get("pinned") is True, state == "draft"
    trust, status = ("import", "active") if is_persons else ("tool", PENDING) if is_draft else (AGENT, "active")
    kind = text_of(bullet, "kind") or text_of(bullet, "type") or "rule"
    reading.add(
        kind,
        text_of(bullet, "id"),
        content,
        _milliseconds(bullet, "createdAt"),
        owner,
        namespace=_KINDS.get(kind, "patterns"),
        tags=_tags(bullet),
        trust=trust,
        status=status,
    )


def _owner_of(workspace: str) -> str | None:
    return identity_of(project.find(workspace)) if os.path.isdir(workspace) else None


def _milliseconds(bullet: Mapping[str, object], name: str) -> int:
    """Return a time of a rule; YAML reads one without quotes as a date."""
    return markdown.milliseconds_since_epoch(str(bullet.get(name) or "")) or 0


def _tags(bullet: Mapping[str, object]) -> tuple[str, ...]:
    said = bullet.get("tags")
    named = [text_of(bullet, "category"), text_of(bullet, "scopeKey"), *(said if isinstance(said, list) else [])]
    return tuple(dict.fromkeys(tag for tag in named if isinstance(tag, str) and 0 < len(tag) <= MAX_ENTRY))[:MAX_LIST]
