"""Actions that rules govern and that an agent's tools do: commit, push, deploy, write tests. Both sides use the same names.

A note that holds in every session ("Run `just tidy` before you commit") is stored under the actions that it names. A tool's
call is looked up by its actions. Reading is no action: `git log`, or a file that is looked at.
"""

from __future__ import annotations

from subcog_hooks.core.files import read_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

MAX_SHARED = 3  # shared words of a rule and a call that count
EXTRA_ACTION = 0.5  # words; each further action of a rule costs this much closeness
OTHER_FIRST_ACTION = 2.0  # words; the cost in closeness if a rule's first action is another
FAR = -9.0  # words; the closeness of a rule about the deletion of something else
PREFIX = "action:"  # begins an action's name among a note's mentions
MAX_READ = 600  # characters of a note
MAX_CALL = 4_000  # characters of a command, or of a text to write
MAX_ACTIONS = 3  # actions of a note; a note that names more is about none of them
EDITING = frozenset(("Edit", "Write", "MultiEdit", "NotebookEdit"))  # tools that write a file

BRANCH, MERGE = "branch", "merge"
RELEASE, DEPLOY, INSTALL, MIGRATE = "release", "deploy", "install", "migrate"
TESTS, TESTING, DOCS, CHANGES, DELETE = "tests", "testing", "docs", "changelog", "delete"
IMAGE, VOLUMES, INFRA, SQL, CI = "image", "volumes", "infrastructure", "sql", "ci"

GOVERNED = frozenset((RELEASE, DEPLOY, MERGE, DELETE, MIGRATE, "rotate", "upgrade"))  # An order names them before any call.
_COMMON = frozenset("git run use new make".split())  # in rules and in calls of every kind
_OTHER_MATTER = frozenset("same last previous latest next this that whose".split())  # "the same commit"

_COMMANDS = {command: " ".join(actions).split() for command, *actions in read_rows(__file__, "action_commands.tsv")}
_LANGUAGES = (  # each with programs that install for it and files that list its dependencies
    ("js", "npm pnpm yarn bun", "package.json"),
    ("python", "pip pip3 pipx uv poetry pipenv conda mamba", "pyproject.toml requirements.txt setup.py pipfile"),
    ("ruby", "gem bundle", "gemfile"),
    ("go", "go", "go.mod"),
    ("rust", "cargo", "cargo.toml"),
    ("php", "composer", "composer.json"),
    ("", "brew apt-get", ""),
)
_INSTALLERS = {program: language for language, programs, _ in _LANGUAGES for program in programs.split()}
_MANIFESTS = {file: language for language, _, files in _LANGUAGES for file in files.split()}
_CHANGELOGS = frozenset(("changelog", "changes", "history", "unreleased", "news"))
_CLIENTS = frozenset("psql mysql sqlite3 sqlcmd mariadb cockroach duckdb".split())  # clients of databases
_REMOVES = ("delete from", "drop table", "drop database", "drop schema", "truncate ")
_QUERIES = ("SELECT ", "INSERT INTO ", "UPDATE ", "DELETE FROM ")  # in capitals, as in code
_DATA_OPTIONS = frozenset(("-v", "--volumes"))  # options of `docker compose down`
_OPERATORS = frozenset(
    "kubectl oc helm gcloud aws az gsutil mc s3cmd heroku fly flyctl doctl gh supabase vault consul etcdctl".split()
)
_DELETING = frozenset("delete destroy purge rm remove uninstall drop rb del terminate wipe".split())  # words of these operators
_NAMED_RELEASES = (("git", "tag"), ("npm", "version"), ("pnpm", "version"), ("poetry", "version"))
_INSTALLING = frozenset("install add i require get inject".split())
_RUNNERS = frozenset("make just task npm pnpm yarn bun rake rails php python python3 poetry uv invoke nox tox".split())
_TARGETS = {"deploy": DEPLOY, "release": RELEASE, "publish": RELEASE, "migrate": MIGRATE, "makemigrations": MIGRATE}
# git's commands that make a branch with these options
_NEW_BRANCH = {"checkout": {"-b", "-B"}, "switch": {"-c", "-C", "--create"}, "worktree": {"-b", "-B"}}
_MANAGERS = frozenset("npm pnpm yarn bun pip uv poetry pipenv conda".split())  # In a note, they install or run a script.
_BEHIND_MANAGERS = frozenset("add install i ci remove update never not no only or and instead for manages is are as to".split())
_VALUED = frozenset(  # options with a value behind them
    "--context --namespace --prefix -C -f -n -p --filter -F --dir --manifest-path -w --workspace".split()
)
_REMOVING_CALLS = (".deletemany(", ".delete(", "delete_all", "destroy_all", "delete from ", "truncate table", "drop table")
_HARMLESS_OPTIONS = frozenset("--help -help --dry-run --list --abort --collect-only".split())  # They prevent any action.
_NO_TARGETS = frozenset("status show notes check list history help preview log logs".split())  # Such targets only report.
_LEADING_WORDS = frozenset("sudo time exec nohup $".split())  # words before a command
_LAUNCHERS = (("npx",), ("bunx",), ("pnpm", "exec"), ("poetry", "run"), ("uv", "run"), ("bundle", "exec"), ("pipenv", "run"))


def actions_of_rule(text: str) -> tuple[str, ...]:
    """Return the actions that a note names, as names of the store, none if it names more than three.

    The caller knows that it is a rule: "The last commit broke the build" is none.

    >>> actions_of_rule("Run `just tidy` before you commit."), actions_of_rule("The German file is filled in the same commit.")
    (('action:commit',), ())
    >>> actions_of_rule("Push notifications are sent by the worker.")
    ()
    """
    raw = [word for word in text[:MAX_READ].lower().split() if word.strip("\"'`*_()[]{}<>.,;:!?")]
    words = [word.strip("\"'`*_()[]{}<>.,;:!?").removesuffix(".md") for word in raw]
    actions: dict[str, None] = {}
    phrases = _phrases_by_word()
    for index, word in enumerate(words):
        for action, names, not_behind, not_before in phrases.get(word, ()):
            behind = "".join(words[index + len(names) : index + len(names) + 1])
            if words[index : index + len(names)] != names or behind in not_before:
                continue
            if index and (words[index - 1] in _OTHER_MATTER or words[index - 1] in not_behind):
                continue
            if word in _MANAGERS and not (raw[index][-1] in ",.;:" or not behind or behind in _BEHIND_MANAGERS):
                continue  # It runs a script.
            actions[action] = None
    for action in (INSTALL, TESTING):  # A rule about a language's tools is about no others.
        if any(name.startswith(f"{action}:") for name in actions):
            actions.pop(action, None)
    return tuple([PREFIX + action for action in actions]) if len(actions) <= MAX_ACTIONS else ()


def actions_of_order(text: str) -> tuple[str, ...]:
    """Return the actions that an order names, of those that are seldom undone. What is deployed is released, too.

    >>> actions_of_order("deploy this to prod pls"), actions_of_order("commit the tests")
    (('action:deploy', 'action:release'), ())
    """
    named = [action.removeprefix(PREFIX) for action in actions_of_rule(text)]
    if DEPLOY in named or RELEASE in named:
        named += [DEPLOY, RELEASE]
    return tuple([PREFIX + action for action in dict.fromkeys(named) if action in GOVERNED])


def closest_rule(rules: Sequence[str], text: str, done: Sequence[str]) -> tuple[int, float]:
    """Return the position of the rule that shares most words with a call or an order, and its closeness; of equals the first.

    rules: texts, at least one; text: the order, or the file and the text of a call; done: its actions.
    """
    words = frozenset(singular_words(text[:MAX_CALL]))
    scores = [closeness(rule, words, done) for rule in rules]
    best = max(range(len(rules)), key=lambda position: scores[position])
    return best, scores[best]


def describe_action(action: str) -> str:
    """Return an action in a few words. action: a name of the store.

    >>> describe_action("action:commit"), describe_action("action:testing:go")
    ('commit', 'run tests')
    """
    plain = action.removeprefix(PREFIX).partition(":")[0]
    described = dict(read_rows(__file__, "action_descriptions.tsv"))
    return described.get(plain, plain)


def actions_of_call(tool: str, text: str, file: str) -> tuple[str, ...]:
    """Return the actions of a tool's call, as names of the store, the most special first.

    text: the command, or the text to write; file: the path to write, "" for none.

    >>> actions_of_call("Bash", "cd web && git commit -m 'Push it'", ""), actions_of_call("Bash", "git log | grep commit", "")
    (('action:commit',), ())
    >>> actions_of_call("Write", "", "tests/test_pool.py"), actions_of_call("Read", "", "tests/test_pool.py")
    (('action:tests',), ())
    """
    actions: dict[str, None] = {}
    text = text[:MAX_CALL]
    if tool == "Bash":
        from subcog_hooks.text.simple_commands import find_commands  # Other tools do not need it.

        removes = any(sign in text.lower() for sign in _REMOVES)
        commands = find_commands(text)
        looked_up = [words[2:] for words in commands if words[0] == "command" and words[1:2] in (["-v"], ["-V"])]
        for words in commands:
            if words not in looked_up:
                actions.update(dict.fromkeys(_actions_of_command(words[:12])))
            if removes and not _CLIENTS.isdisjoint(words):
                actions[DELETE] = None
    elif tool in EDITING and file:
        actions.update(dict.fromkeys(_actions_of_file(file.lower())))
        if not actions and any(sign in text for sign in _QUERIES):
            actions[SQL] = None
        if TESTS not in actions and any(sign in text.lower() for sign in _REMOVING_CALLS):
            actions[DELETE] = None
    return tuple([PREFIX + action for action in actions])


def closeness(rule: str, call_words: AbstractSet[str], done: Sequence[str]) -> float:
    """Return how many words of a call a rule has, less if the rule names other actions, too, or names them first.

    call_words: `singular_words` of the call's file and text; done: the call's actions. A rule about the deletion of something
    else gets FAR.

    >>> closeness("Mind the race when you run tests.", {"go", "test", "race"}, ("action:testing",))
    1.5
    >>> closeness("Ask before you delete what lies under data.", {"rm", "rf", "build"}, ("action:delete",))
    -9.0
    """
    from subcog_hooks.text import STOP  # Only a rule about these actions needs it.

    rule_words = {*singular_words(rule[:MAX_READ])} - STOP - _COMMON
    shared = sum(len(word) > 1 for word in rule_words & call_words)
    governed = actions_of_rule(rule)
    if not shared and {*governed} & {*done} == {PREFIX + DELETE}:
        return FAR
    penalty = OTHER_FIRST_ACTION if governed and governed[0] not in done else 0.0
    return min(MAX_SHARED, shared) - EXTRA_ACTION * max(0, len(governed) - 1) - penalty


def singular_words(text: str) -> list[str]:
    """Return the words of a text in small letters without signs, a plural as its singular."""
    plain = "".join([character if character.isalnum() else " " for character in text.lower()])
    return [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in plain.split()]


def _actions_of_command(words: Sequence[str]) -> Sequence[str]:
    words, options = _without_options(words)
    if not words or not _HARMLESS_OPTIONS.isdisjoint(options) or any(option.startswith("--dry-run=") for option in options):
        return ()
    program = words[0].rpartition("/")[2]
    rest = words[1:]
    if (program in _OPERATORS and not _DELETING.isdisjoint(rest[:4])) or (program == "find" and "-delete" in options):
        return (DELETE,)
    if program == "git" and rest and rest[0] in _NEW_BRANCH:
        return () if _NEW_BRANCH[rest[0]].isdisjoint(options) else (BRANCH,)
    if program == "git" and ("-l" in options or (rest[:1] == ["clean"] and "f" not in "".join(options))):
        return ()  # It only reports.
    commands = (" ".join((program, *rest[:length])).lower() for length in range(min(3, len(rest)), -1, -1))
    if command := next(filter(_COMMANDS.__contains__, commands), ""):
        return _COMMANDS[command]
    if (program, *rest[:1]) in _NAMED_RELEASES and rest[1:]:  # Without a name they only report.
        return (RELEASE,)
    if program == "uv" and rest[:1] == ["pip"]:
        rest = rest[1:]
    if program in _INSTALLERS and len(rest) > 1 and rest[0] in _INSTALLING:  # not the listed ones
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
    """Return a command without leading words, options and their values; and the options."""
    start = 0
    while start < len(words) and (
        words[start] in _LEADING_WORDS or ("=" in words[start] and words[start].partition("=")[0].isidentifier())
    ):
        start += 3 if words[start] == "sudo" and words[start + 1 : start + 2] in (["-u"], ["-g"]) else 1
    options = [word for word in words[start:] if word.startswith("-")]
    plain = [
        word
        for index, word in enumerate(words[start:], start)
        if not (word.startswith("-") or (index > start and words[index - 1] in _VALUED))
    ]
    for launcher in _LAUNCHERS:
        if tuple(plain[: len(launcher)]) == launcher:
            plain = plain[len(launcher) :]
    if "-m" in options and plain[1:] and plain[0].startswith("python"):  # python -m pytest
        plain = plain[1:]
    return plain, options


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


_phrases: dict[str, list[tuple[str, list[str], list[str], list[str]]]] = {}  # Most calls look at no note.


def _phrases_by_word() -> dict[str, list[tuple[str, list[str], list[str], list[str]]]]:
    """Return the phrases of each action, by their first word: its words, and words that may not stand before and behind it."""
    if not _phrases:
        by_word: dict[str, list[tuple[str, list[str], list[str], list[str]]]] = {}
        for action, phrases, *excluded in read_rows(__file__, "action_phrases.tsv"):
            not_behind, not_before = ([] if cell == "-" else cell.split() for cell in excluded)
            for words in map(str.split, phrases.split("|")):
                by_word.setdefault(words[0], []).append((action, words, not_behind, not_before))
        _phrases.update(by_word)  # In one step, since another thread may read it.
    return _phrases
