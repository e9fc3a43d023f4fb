"""Actions that rules are about and that an agent's tools do: commit, push, deploy, write tests. Named the same on both sides.

A note that holds in every session ("Run `just tidy` before you commit") is kept under the actions that it names, and a tool's
call is looked up by what it does. Reading does nothing: `git log` and a file that is looked at are no action.
"""

from __future__ import annotations

from subcog_hooks.core.tables import read_rows
from subcog_hooks.text.familiar import LEADS, VALUED
from subcog_hooks.text.mentions import MAX_COMMAND, commands_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

MOST_SHARED = 3  # that a rule and a call have in common, which count
OTHER_ACTIONS = 0.5  # of a word: what each further action of a rule takes from its closeness
BY_THE_WAY = 2.0  # words, where the first action that it names is another
PREFIX = "action:"  # begins the name under which a note is kept beside what it mentions
MAX_READ = 600  # characters of a note
MOST_ACTIONS = 3  # of one note: one that names more is about none of them
EDITING = frozenset(("Edit", "Write", "MultiEdit", "NotebookEdit"))  # tools that write a file

COMMIT, PUSH, BRANCH, MERGE = "commit", "push", "branch", "merge"
REQUEST, RELEASE, DEPLOY, INSTALL, MIGRATE = "pull-request", "release", "deploy", "install", "migrate"
TESTS, TESTING, DOCS, CHANGES, DELETE = "tests", "testing", "docs", "changelog", "delete"
IMAGE, VOLUMES, INFRA, SQL, CI = "image", "volumes", "infrastructure", "sql", "ci"

_COMMON = frozenset("git run use new make".split())  # in rules and in calls of every kind
_SAID = {  # where the action's own name is no verb
    REQUEST: "open a pull request",
    BRANCH: "make a branch",
    TESTS: "write tests",
    TESTING: "run tests",
    DOCS: "write documentation",
    CHANGES: "write the changelog",
    IMAGE: "build an image",
    VOLUMES: "remove volumes",
    INFRA: "change the infrastructure",
    SQL: "write SQL",
    CI: "change the CI",
}
_AFTER = frozenset("same last previous latest next this that whose".split())  # "the same commit" is another matter
_NOT_BEHIND = {PUSH: frozenset(("db", "docker", "image"))}  # and behind these not this one
_NO_OBJECT = {  # words behind which it is not the action
    COMMIT: frozenset(("sha", "sha1", "hash", "hashes", "id", "ids")),
    PUSH: frozenset(("notification", "notifications", "message", "messages", "gateway", "token", "tokens")),
    RELEASE: frozenset(("service", "branch", "branches", "candidate", "note", "notes", "team")),
    MERGE: frozenset(("conflict", "conflicts", "request", "requests", "sort")),
}

_COMMANDS = {command: " ".join(actions).split() for command, *actions in read_rows(__file__, "action_commands.tsv")}
_INSTALLERS = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), "js"),
    **dict.fromkeys(("pip", "pip3", "pipx", "uv", "poetry", "pipenv", "conda", "mamba"), "python"),
    **dict.fromkeys(("gem", "bundle"), "ruby"),
    "go": "go",
    "cargo": "rust",
    "composer": "php",
    "brew": "",
    "apt-get": "",
}
_MANIFESTS = {
    "package.json": "js",
    "pyproject.toml": "python",
    "requirements.txt": "python",
    "setup.py": "python",
    "pipfile": "python",
    "go.mod": "go",
    "cargo.toml": "rust",
    "gemfile": "ruby",
    "composer.json": "php",
}  # files that list what is installed
_CHANGELOGS = frozenset(("changelog", "changes", "history", "unreleased", "news"))
_CLIENTS = frozenset("psql mysql sqlite3 sqlcmd mariadb cockroach duckdb".split())  # of databases
_REMOVES = ("delete from", "drop table", "drop database", "drop schema", "truncate ")
_QUERIES = ("SELECT ", "INSERT INTO ", "UPDATE ", "DELETE FROM ")  # in code they are written like this
_DATA_OPTIONS = frozenset(("-v", "--volumes"))  # of `docker compose down`
_NAMED_RELEASES = (("git", "tag"), ("npm", "version"), ("pnpm", "version"), ("poetry", "version"))
_INSTALLING = frozenset("install add i require get inject".split())
_RUNNERS = frozenset("make just task npm pnpm yarn bun rake rails php python python3 poetry uv invoke nox tox".split())
_TARGETS = {"deploy": DEPLOY, "release": RELEASE, "publish": RELEASE, "migrate": MIGRATE, "makemigrations": MIGRATE}  # theirs
_NEW_BRANCH = {  # git's commands that make a branch, with the options by which they do
    "checkout": frozenset(("-b", "-B")),
    "switch": frozenset(("-c", "-C", "--create")),
    "worktree": frozenset(("-b", "-B")),
}
_MANAGERS = frozenset("npm pnpm yarn bun pip uv poetry pipenv conda".split())  # in a note: what installs, or runs a script
_BEHIND_MANAGERS = frozenset("add install i ci remove update never not no only or and instead for manages is are as to".split())
_VALUED = VALUED | frozenset(("--filter", "-F", "--dir", "--manifest-path", "-w", "--workspace", "-p"))
_REMOVING_CALLS = (".deletemany(", ".delete(", "delete_all", "destroy_all", "delete from ", "truncate table", "drop table")
_LOOKING = frozenset("--help -help --dry-run --list -l --abort --collect-only".split())  # with them nothing is done
_NO_TARGETS = frozenset("status show notes check list history help preview log logs".split())  # beside them a target only tells
_BEFORE = LEADS | frozenset("sudo time exec nohup $".split())  # words before a command
_LAUNCHERS = (("npx",), ("bunx",), ("pnpm", "exec"), ("poetry", "run"), ("uv", "run"), ("bundle", "exec"), ("pipenv", "run"))


def governed_by(text: str) -> tuple[str, ...]:
    """Return the actions that a note names, as names of the store, none where it names more than three.

    The caller knows that it is a rule: "The last commit broke the build" is none.

    >>> governed_by("Run `just tidy` before you commit."), governed_by("The German file is filled in the same commit.")
    (('action:commit',), ())
    >>> governed_by("Push notifications are sent by the worker.")
    ()
    """
    raw = [word for word in text[:MAX_READ].lower().split() if word.strip("\"'`*_()[]{}<>.,;:!?")]
    words = [word.strip("\"'`*_()[]{}<>.,;:!?").removesuffix(".md") for word in raw]
    found: dict[str, None] = {}
    phrases = _phrases_by_word()
    for at, word in enumerate(words):
        for action, names in phrases.get(word, ()):
            if words[at : at + len(names)] != names or (at and words[at - 1] in _AFTER | _NOT_BEHIND.get(action, frozenset())):
                continue
            behind = "".join(words[at + len(names) : at + len(names) + 1])
            if behind in _NO_OBJECT.get(action, ()):
                continue
            if word in _MANAGERS and not (raw[at][-1] in ",.;:" or not behind or behind in _BEHIND_MANAGERS):
                continue  # it runs a script
            found[action] = None
    for action in (INSTALL, TESTING):  # a rule about one language's tools is about no others
        if any(name.startswith(f"{action}:") for name in found):
            found.pop(action, None)
    return tuple([PREFIX + action for action in found]) if len(found) <= MOST_ACTIONS else ()


def said(action: str) -> str:
    """Return what is done, in a few words. action: a name of the store.

    >>> said("action:commit"), said("action:testing:go")
    ('commit', 'run tests')
    """
    plain = action.removeprefix(PREFIX).partition(":")[0]
    return _SAID.get(plain, plain)


def done_by(tool: str, text: str, file: str) -> tuple[str, ...]:
    """Return the actions that a tool's call does, as names of the store, the most special first.

    text: the command, or what is to be written; file: the path that is written, "" for none.

    >>> done_by("Bash", "cd web && git commit -m 'Push it'", ""), done_by("Bash", "git log | grep commit", "")
    (('action:commit',), ())
    >>> done_by("Write", "", "tests/test_pool.py"), done_by("Read", "", "tests/test_pool.py")
    (('action:tests',), ())
    """
    found: dict[str, None] = {}
    if tool == "Bash":
        text = text[:MAX_COMMAND]
        removes = any(sign in text.lower() for sign in _REMOVES)
        for part in commands_of(_plain_commands(text)):
            words = part.split(None, 12)[:12]
            found.update(dict.fromkeys(_actions_of_command(words)))
            if removes and not _CLIENTS.isdisjoint(words):
                found[DELETE] = None
    elif tool in EDITING and file:
        found.update(dict.fromkeys(_actions_of_file(file.lower())))
        text = text[:MAX_COMMAND]
        if not found and any(sign in text for sign in _QUERIES):
            found[SQL] = None
        if TESTS not in found and any(sign in text.lower() for sign in _REMOVING_CALLS):
            found[DELETE] = None
    return tuple([PREFIX + action for action in found])


def closeness(rule: str, about: AbstractSet[str], done: Sequence[str]) -> float | None:
    """Return how many words of a call a rule has, less where it is about other actions, too, or before the call's.

    about: `singular_words` of the call's file and text; done: the call's actions. None: it is about the deletion of something
    else.

    >>> closeness("Mind the race when you run tests.", {"go", "test", "race"}, ("action:testing",))
    1.5
    >>> closeness("Ask before you delete what lies under data.", {"rm", "rf", "build"}, ("action:delete",)) is None
    True
    """
    from subcog_hooks.text.vocabulary import STOP  # where a rule is about what is done

    said = {word for word in singular_words(rule[:MAX_READ]) if len(word) > 1 and word not in STOP and word not in _COMMON}
    shared = len(said & about)
    governed = governed_by(rule)
    if not shared and {*governed} & {*done} == {PREFIX + DELETE}:
        return None
    by_the_way = BY_THE_WAY if governed and governed[0] not in done else 0.0
    return min(MOST_SHARED, shared) - OTHER_ACTIONS * max(0, len(governed) - 1) - by_the_way


def singular_words(text: str) -> list[str]:
    """Return the words of a text in small letters without signs, a plural as its singular."""
    plain = "".join([character if character.isalnum() else " " for character in text.lower()])
    return [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in plain.split()]


def _actions_of_command(words: Sequence[str]) -> Sequence[str]:
    words, options = _without_options(words)
    if not words or not _LOOKING.isdisjoint(options) or any(option.startswith("--dry-run=") for option in options):
        return ()
    program = words[0].rpartition("/")[2]
    rest = words[1:]
    if program == "git" and rest and rest[0] in _NEW_BRANCH:
        return () if _NEW_BRANCH[rest[0]].isdisjoint(options) else (BRANCH,)
    if program == "git" and rest[:1] == ["clean"] and not any("f" in option for option in options):
        return ()  # it only tells
    for length in (3, 2, 1):
        known = _COMMANDS.get(" ".join([program, *rest[: length - 1]])) if len(words) >= length else None
        if known is not None:
            return known
    if (program, *rest[:1]) in _NAMED_RELEASES and rest[1:]:  # without a name they only tell
        return (RELEASE,)
    if program == "uv" and rest[:1] == ["pip"]:
        rest = rest[1:]
    if program in _INSTALLERS and len(rest) > 1 and rest[0] in _INSTALLING:  # without a name what is listed is installed
        return _actions_of_installing(_INSTALLERS[program])
    if program in ("gradlew", "gradle") and any(word.startswith("test") for word in rest):
        return (TESTING,)
    if program == "docker" and rest[:2] == ["compose", "down"] and not _DATA_OPTIONS.isdisjoint(options):
        return (VOLUMES,)
    if program in _RUNNERS or program.endswith(("deploy.sh", "release.sh")) or words[0].startswith(("bin/", "./")):
        targets = [piece for word in (program, *rest[:3]) for piece in word.replace(":", "-").replace(".", "-").split("-")]
        return [] if not _NO_TARGETS.isdisjoint(targets) else [_TARGETS[piece] for piece in targets if piece in _TARGETS][:1]
    return ()


def _without_options(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return a command without what stands before it and without options and their values, and the options."""
    at = 0
    while at < len(words) and (words[at] in _BEFORE or ("=" in words[at] and words[at].partition("=")[0].isidentifier())):
        at += 1
    options = [word for word in words[at:] if word.startswith("-")]
    plain = [
        word
        for place, word in enumerate(words[at:], at)
        if not (word.startswith("-") or (place > at and words[place - 1] in _VALUED))
    ]
    for launcher in _LAUNCHERS:
        if tuple(plain[: len(launcher)]) == launcher:
            plain = plain[len(launcher) :]
    if "-m" in options and plain[1:] and plain[0].startswith("python"):  # python -m pytest
        plain = plain[1:]
    return plain, options


def _plain_commands(command: str) -> str:
    """Return a shell's command without what it only says, and without brackets."""
    plain = _without_heredocs(command).replace('\\"', " ").replace("\\'", " ")
    lines = [line for line in plain.split("\n") if not line.lstrip().startswith("#")]
    return "\n".join(lines).replace("(", "\n").replace(")", "\n")


def _without_heredocs(command: str) -> str:
    """Return a shell's command without the texts that it hands to its commands: they are said, not run.

    Where the line that ends such a text never comes, it is none.

    >>> _without_heredocs("cat > a.md <<'EOF'\\ngit push\\nEOF\\nls"), _without_heredocs("echo $((1<<2))\\ngit push")
    ("cat > a.md <<'EOF'\\nls", 'echo $((1<<2))\\ngit push')
    """
    if "<<" not in command:
        return command
    lines = command.split("\n")
    last = {line.strip(): place for place, line in enumerate(lines)}
    kept: list[str] = []
    at = 0
    while at < len(lines):
        kept.append(lines[at])
        end = _end_of_heredoc(lines[at])
        at += 1
        if end and last.get(end, -1) >= at:
            while lines[at].strip() != end:
                at += 1
            at += 1
    return "\n".join(kept)


def _end_of_heredoc(line: str) -> str:
    """Return the word that ends the text which this line begins, "" where it begins none."""
    before, sign, behind = line.rpartition("<<")
    behind = behind.removeprefix("-").strip()
    if not sign or before.endswith("<") or not behind:
        return ""
    if behind[0] in "'\"":
        return behind[1:].partition(behind[0])[0].strip()
    word = "".join([character if character.isalnum() or character == "_" else " " for character in behind]).split(" ")[0]
    return "" if word[:1].isdigit() else word


def _actions_of_installing(language: str) -> Sequence[str]:
    return (f"{INSTALL}:{language}", INSTALL) if language else (INSTALL,)


def _actions_of_file(path: str) -> Sequence[str]:
    folders, _, name = path.rpartition("/")
    parts = folders.split("/")
    stem, _, ending = name.rpartition(".") if "." in name else (name, "", "")
    is_migration = {"migrations", "migrate"} & {*parts} or ("versions" in parts and "alembic" in parts)
    if is_migration and ending in ("py", "rb", "sql", "ts", "js", "php", "go", "exs"):
        return (MIGRATE,)
    if (
        {"tests", "test", "spec", "specs", "__tests__", "e2e"} & {*parts}
        or stem.startswith("test_")
        or stem.endswith(("_test", "_spec", ".test", ".spec", "-test", "-spec"))
    ):
        return (TESTS,)
    is_prose = ending in ("", "md", "mdx", "rst", "txt", "adoc")
    if is_prose and (stem in _CHANGELOGS or {"changelog", "changelog.d"} & {*parts}):
        return (CHANGES,)
    if name in _MANIFESTS:
        return _actions_of_installing(_MANIFESTS[name])
    if ending in ("md", "mdx", "rst", "adoc"):
        return (DOCS,)
    if name.startswith("dockerfile") or stem == "dockerfile":
        return (IMAGE,)
    if ".github/workflows" in path or name in (".gitlab-ci.yml", "jenkinsfile", "azure-pipelines.yml") or ".circleci" in parts:
        return (CI,)
    if ending in ("tf", "tfvars"):
        return (INFRA,)
    return (SQL,) if ending == "sql" else ()


def _phrases_by_word() -> dict[str, list[tuple[str, list[str]]]]:
    """Return the phrases that name an action by their first words, each as its words."""
    if not _phrases:
        by_word: dict[str, list[tuple[str, list[str]]]] = {}
        for action, phrases in read_rows(__file__, "action_phrases.tsv"):
            for words in map(str.split, phrases.split("|")):
                by_word.setdefault(words[0], []).append((action, words))
        _phrases.update(by_word)  # at once: another thread may read it
    return _phrases


_phrases: dict[str, list[tuple[str, list[str]]]] = {}  # read when a note is looked at: most calls look at none
