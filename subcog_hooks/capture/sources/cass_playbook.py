"""cass-memory: the rules of its playbooks, the person's and the repository's, in YAML or JSON.

The fields are those of `src/types.ts` of Dicklesworthstone/cass_memory_system. An established rule counts as an agent's, a
pinned one as the person's, a draft as a machine's guess.
"""

import os
from collections.abc import Mapping

from subcog_hooks.capture.repository_files import MAX_MARKDOWN
from subcog_hooks.capture.sources.foreign_database import milliseconds_value
from subcog_hooks.capture.sources.source_reading import BY_AGENT, BY_MACHINE, BY_PERSON, SourceReading, owner_of, valid_tags
from subcog_hooks.core.errors import UsageError
from subcog_hooks.core.files import leads_out, read_regular
from subcog_hooks.store.project import Project

CASS = "cass"
PLAYBOOK = "playbook.yaml"
REPOSITORY_FOLDER = ".cass"
MAX_YAML_DEPTH = 50  # nested lists; a rule needs four
MAX_YAML_EVENTS = 500_000  # parser events: 200 MB, or some ten thousand rules

_YAML_NULLS = ("null", "Null", "NULL", "~")  # https://yaml.org/spec/1.2.2/#103-core-schema


def find_playbooks(environment: Mapping[str, str], here: Project | None) -> list[str]:
    """Return the existing playbooks of the person and of the current repository."""
    data = environment.get("XDG_DATA_HOME", "")
    folders = [_user_folder(), *([os.path.join(data, "cass-memory")] if os.path.isabs(data) else [])]
    folders += [os.path.join(here.root, REPOSITORY_FOLDER)] if here else []
    return [file for folder in folders if os.path.isfile(file := os.path.join(folder, PLAYBOOK))]


def _user_folder() -> str:
    return os.path.join(os.path.expanduser("~"), ".cass-memory")


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
            reading.begin_store(file, _user_folder())
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
    advice = "look whether it is the file you mean"
    try:
        raw = read_regular(file, MAX_MARKDOWN + 1)
        if len(raw) > MAX_MARKDOWN:
            raise UsageError(f"{file} has more than {MAX_MARKDOWN:,} bytes", advice)
        text = raw.decode("utf-8-sig")
        for event in yaml.parse(text, Loader=loader):  # deep nesting would crash the loader, so events come first
            events += 1
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_YAML_DEPTH:
                raise UsageError(f"{file} is nested more than {MAX_YAML_DEPTH} deep", advice)
            if events > MAX_YAML_EVENTS:
                raise UsageError(f"{file} has more than {MAX_YAML_EVENTS:,} values", advice)
        parsed = yaml.load(text, Loader=loader)  # noqa: S506 - it makes texts, lists and mappings alone
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}", advice) from error
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise UsageError(f"{file} is no YAML: {' '.join(str(error).split())[:200]}", advice) from error
    bullets = parsed.get("bullets") if isinstance(parsed, dict) else None
    if not isinstance(bullets, list):
        raise UsageError(f"{file} has no list of bullets: it is no playbook of cass-memory", advice)
    rules: list[Mapping[str, object]] = [bullet for bullet in bullets if isinstance(bullet, dict)]
    if sum(len(_rule_text(rule, "content")) for rule in rules) > MAX_MARKDOWN:  # aliases can repeat a text a thousand times
        raise UsageError(f"{file} says more than its {MAX_MARKDOWN:,} bytes can hold", advice)
    return rules


def _add_rule(bullet: Mapping[str, object], reading: SourceReading) -> None:
    content, state = _rule_text(bullet, "content"), _rule_text(bullet, "state") or "draft"
    is_retired = state == "retired" or _is_true(bullet, "deprecated") or _rule_text(bullet, "maturity") == "deprecated"
    if is_retired or _rule_text(bullet, "replacedBy"):
        reading.left_out["is retired or replaced there"] += 1
        return
    if not content or not _rule_text(bullet, "id"):
        reading.left_out["is empty"] += 1
        return
    owner = None
    if _rule_text(bullet, "scope") == "workspace" and not reading.repository:
        workspace = _rule_text(bullet, "workspace")
        owner = owner_of(os.path.expanduser(workspace))
        if owner is None:
            reading.left_out[f"is about a folder that is not here ({workspace})"] += 1
            return
    author = BY_PERSON if _is_true(bullet, "pinned") else BY_MACHINE if state == "draft" else BY_AGENT
    kind = _rule_text(bullet, "kind") or _rule_text(bullet, "type") or "rule"
    namespace = "learnings" if kind == "anti_pattern" else "patterns"
    at_ms, tags = milliseconds_value(bullet, "createdAt", "updatedAt"), _rule_tags(bullet)
    reading.add(kind, _rule_text(bullet, "id"), content, at_ms, owner, namespace=namespace, tags=tags, **author)


def _rule_text(bullet: Mapping[str, object], name: str) -> str:
    """Return a value of a rule, "" for YAML's words for null."""
    value = bullet.get(name)
    return "" if not isinstance(value, str) or value in _YAML_NULLS else value.strip()


def _is_true(bullet: Mapping[str, object], name: str) -> bool:
    return _rule_text(bullet, name).lower() == "true"


def _rule_tags(bullet: Mapping[str, object]) -> tuple[str, ...]:
    tags = bullet.get("tags")
    names = [_rule_text(bullet, "category"), _rule_text(bullet, "scopeKey"), *(tags if isinstance(tags, list) else [])]
    return valid_tags(names)
