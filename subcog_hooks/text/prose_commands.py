"""Commands in prose that nobody put into backticks: `make openapi`, `just db-reset`, `docker compose up`.

A program and one of its own subcommands are a command wherever they stand. A program that runs targets of any name, or is an
English word as well, needs a sign beside it: a word that says it is run, the beginning of a sentence, a name no word has.
"""

from __future__ import annotations

from subcog_hooks.text.familiar import INTERPRETERS, VALUED
from subcog_hooks.text.vocabulary import EVERYDAY, STOP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_WORDS = 8  # of a command that are looked at: options may stand before the subcommand

# program -> subcommands that tell it from a noun ("docker images", "git history"); nobody writes them otherwise
_SUBCOMMANDS = {
    program: frozenset(subcommands.split())
    for program, subcommands in {
        "alembic": "branches current downgrade history revision stamp upgrade",
        "ansible-playbook": "",
        "apt": "install update upgrade",
        "apt-get": "install update upgrade",
        "aws": "cloudformation dynamodb ec2 ecr ecs eks iam lambda logs s3 s3api secretsmanager sqs ssm sso sts",
        "az": "account acr aks group login storage webapp",
        "brew": "install services tap uninstall upgrade",
        "bun": "install test",
        "bundle": "exec install update",
        "cargo": "add bench build check clean clippy doc fix fmt install publish test tree update",
        "composer": "dump-autoload install require update",
        "conda": "activate create env install update",
        "dbt": "build compile deps run seed snapshot test",
        "deno": "check fmt install lint test",
        "docker": "attach build buildx cp exec inspect load login logs prune pull push restart rm rmi run start stop tag",
        "docker-compose": "build config down exec logs ps pull restart run start stop up",
        "dotnet": "build publish restore run test",
        "eas": "build submit update",
        "firebase": "deploy emulators serve",
        "fly": "deploy logs ssh",
        "flyctl": "deploy logs ssh",
        "flyway": "clean info migrate repair",
        "gcloud": "app auth builds compute config container functions projects run sql",
        "gh": "api auth issue pr release repo run workflow",
        "git": "add bisect blame checkout cherry-pick clean clone commit fetch init log merge mv pull push rebase reflog remote"
        " reset restore revert rm show stash submodule switch worktree",
        "glab": "ci issue mr",
        "gradle": "assemble build check clean test",
        "helm": "dependency install lint rollback template uninstall upgrade",
        "heroku": "config logs maintenance pg ps run",
        "kubectl": "apply attach config cordon cp create delete describe diff drain edit exec expose get label logs patch"
        " port-forward rollout run scale set taint top uncordon wait",
        "minikube": "delete start stop",
        "mvn": "clean compile deploy install package test verify",
        "npm": "audit ci exec init install link publish test uninstall update version",
        "nx": "affected build generate lint run serve test",
        "pip": "compile freeze install uninstall",
        "pip-compile": "",
        "pipx": "inject install run upgrade",
        "pm2": "logs reload restart start stop",
        "pnpm": "add build dev install lint test update",
        "poetry": "add build install lock publish update",
        "pre-commit": "autoupdate install run",
        "prisma": "db format generate migrate studio",
        "pulumi": "destroy preview refresh up",
        "rustup": "component default install override target toolchain update",
        "supabase": "db functions gen link migration start stop",
        "systemctl": "daemon-reload disable enable reload restart start status stop",
        "terraform": "apply destroy fmt import init output plan refresh state taint validate workspace",
        "terragrunt": "apply destroy init plan",
        "uv": "add lock pip sync",
        "vercel": "deploy env pull",
        "wrangler": "deploy dev publish secret tail",
        "yarn": "add build dev install lint start test upgrade",
    }.items()
    if subcommands
}
_THIRD = {  # after two words a third one says what is done
    ("docker", "compose"): _SUBCOMMANDS["docker-compose"],
    ("cargo", "run"): frozenset(),
    ("go", "run"): frozenset(),
}
_SCRIPTS = {  # what runs a project's own scripts and is no English word, and what follows it before their names
    ("npm", "run"),
    ("pnpm", "run"),
    ("yarn", "run"),
    ("bun", "run"),
    ("deno", "task"),
    ("hatch", "run"),
    ("pdm", "run"),
    ("uv", "run"),
    ("poetry", "run"),
    ("pipenv", "run"),
}
_RUNNERS = frozenset(("just", "make", "rake", "inv", "invoke", "task", "mix", "poe", "nox", "yarn", "pnpm", "mage", "go"))
_GO = frozenset(("build", "generate", "install", "mod", "run", "test", "vet", "work"))

_ON_FILES = frozenset((*INTERPRETERS, "pytest"))  # a file or a folder follows
_SOURCES = (".js", ".mjs", ".php", ".pl", ".py", ".rb", ".ts")
_PROGRAMS = frozenset((*_SUBCOMMANDS, *_RUNNERS, *_ON_FILES, *(program for program, _ in (*_SCRIPTS, *_THIRD))))

# before a command: that it is run
_RUN = frozenset(
    """call calling calls execute executed executes executing invoke invoking issue launch re-run re-running ran rerun rerunning
    rerunning run running runs type typing via with using use uses used""".split()
)
# behind a command that begins a clause: what it does, or when
_DOES = frozenset(
    """after applies before boots brings builds checks clears copies creates deletes deploys does downloads drops dumps emits
    ends executes exits expects exports fails fetches fills fixes formats generates gives hangs ignores imports installs is
    launches lints loads locks lives migrates must needs only opens overwrites packs passes prints produces publishes pulls
    pushes reads rebuilds recreates refreshes regenerates reinstalls reloads removes renders replaces requires resets restarts
    restores rewrites rolls runs seeds sends serves sets should skips spins starts stops syncs takes tears tests times
    truncates uninstalls updates uploads uses validates verifies wants watches wipes works writes""".split()
)
_GOES_ON = frozenset(
    "after again and at before but first for from if in on once or then to twice until when where which while with".split()
)
# targets that makefiles and justfiles have everywhere
_TARGETS = frozenset(
    """all bench benchmark bootstrap build check ci clean codegen coverage db deploy dev dist distclean docs down e2e fmt format
    generate image init install integration lint migrate migrations mocks openapi proto protos publish release reset schema
    seed serve setup shell smoke start stop sync test tests typecheck up validate venv verify watch""".split()
)
_NOUNS = frozenset(  # behind a program: what it is or has, not what it does
    """binary bug build-system cache changes client command commands config configuration container containers dependencies
    dependency documentation environment environments error errors file files image images invocation job jobs lockfile
    manager module modules package packages plugin plugins process project projects queue recipe recipes registry repo
    repositories repository rule rules runner script scripts server service services step steps syntax system target targets
    task tasks team tool tools user users variable variables version versions wrapper""".split()
)
_COMPOUND = frozenset(  # first parts of words with a hyphen that are English: "just read-only", "make up-to-date"
    """ad all always anti auto back bare best brand bug built case client co cold cost cross custom data day dead deep double
    drop easy edge end error even ever fail far fast few fine first five fixed four front full general good half hand hard head
    heavy high hot hour human in ill just key large last left less light line lock long loop low machine many mid middle minor
    mission more multi near never new non off old on one open opt out over own part peer per plain point post pre pretty purpose
    quick re read ready real red right run same second self semi server service short side simple single six so some stand state
    still super ten test text thin third thread three time to top trade two type under up user very warm web well wide work
    world worst write zero""".split()
)
_OPENING = "(\"'[{\u2018\u201c\u2014\u2192"
_CLOSING = ".,;:!?)]}\"'\u2019\u201d"
_ENDS = frozenset(".:;!?(,\u2014\u2013-\u2192>*")  # what a clause begins behind


def commands_in_prose(text: str) -> Iterator[str]:
    """Yield each command that a text names without backticks: its program, and the words behind that may be its own.

    Linear in the text: a word is looked up in a table.

    >>> list(commands_in_prose("After new routes run make openapi; just db-reset wipes all. Make sure of it."))
    ['make openapi', 'just db-reset']
    """
    words = text.split()
    for at, word in enumerate(words):
        program = word.lstrip(_OPENING)
        if program in _PROGRAMS:
            command = _command(words, at, program)
            if command:
                yield command


def _command(words: list[str], at: int, program: str) -> str:
    """Return the command that begins at this word; empty where it is none."""
    own = _own_words(words, at, program)
    plain = [word for word, before in zip(own[1:], own, strict=False) if word[0] != "-" and before not in VALUED]
    if not plain:
        return ""
    second, third = plain[0], "".join(plain[1:2])
    if program in _ON_FILES:
        is_meant = _is_path(second) and (program == "pytest" or (second.endswith(_SOURCES) and _is_target(third)))
        return " ".join(own) if is_meant else ""
    if (program, second) in _SCRIPTS:
        return " ".join(own) if _is_target(third) else ""
    if (program, second) in _THIRD:
        known = _THIRD[program, second]
        return " ".join(own) if (third in known if known else _is_path(third)) else ""
    if second in _SUBCOMMANDS.get(program, ()):
        return " ".join(own)
    if program not in _RUNNERS or own[1] != second:
        return ""
    if program == "go":
        return " ".join(own) if second in _GO and (_is_run(words, at) or _is_path(third)) else ""
    if not _is_target(second):
        return ""
    behind = own[2] if len(own) > 2 else ""
    if "-" in second and not _has_sign(second):
        return ""
    goes_on = not behind or behind in _DOES or behind in _GOES_ON
    if _has_sign(second):
        is_meant = goes_on or _is_run(words, at) or behind.endswith("s")
    elif _is_run(words, at):
        is_meant = program != "just" or second in _TARGETS or not behind
    else:
        begins = at == 0 or words[at - 1][-1] in _ENDS or words[at] != program
        is_meant = begins and (behind in _DOES or (second in _TARGETS and goes_on))
    return " ".join(own[:2]) if is_meant else ""


def _own_words(words: list[str], at: int, program: str) -> list[str]:
    """Return the words from the program to the end of its clause, the last without its punctuation."""
    own = [program]
    for word in words[at + 1 : at + MAX_WORDS]:
        plain = word.rstrip(_CLOSING)
        if plain:
            own.append(plain)
        if plain != word:
            break
    return own


def _is_run(words: list[str], at: int) -> bool:
    """Return whether the word before says that something is run."""
    return at > 0 and words[at - 1].lower().lstrip(_OPENING).rstrip(":") in _RUN


def _is_target(word: str) -> bool:
    """Return whether a word may name what a project has called one of its scripts."""
    plain = word.replace("-", "").replace("_", "").replace(":", "").replace(".", "").replace("/", "")
    if not (plain.isascii() and plain.isalnum() and word.islower() and word[0].isalpha() and len(word) <= 60):
        return False
    return word not in STOP and word not in _NOUNS and (word in _TARGETS or word not in EVERYDAY)


def _has_sign(word: str) -> bool:
    """Return whether a name is written as no English word is: db-reset, db:seed, gen_api, but not read-only."""
    if "_" in word or ":" in word[1:-1]:
        return True
    first, hyphen, last = word.partition("-")
    return (
        len(first) > 1
        and bool(hyphen and last)
        and first not in _COMPOUND
        and "-" not in last
        and not last.endswith(("ed", "ing", "ly"))
    )


def _is_path(word: str) -> bool:
    return "/" in word or word.endswith(_SOURCES)
