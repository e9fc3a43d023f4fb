"""Words for reading texts: function words, everyday words of prompts, and classes for the patterns of intent."""

from subcog_hooks.core.files import read_words

_WORDS = read_words(__file__, "vocabulary.tsv")

CLASSES = {name[1:]: words for name, words in _WORDS.items() if name[0] == "@"}
STOP = _WORDS["function words"] | _WORDS["of queries"]  # No query needs them.
FILLERS = _WORDS["function words"] | _WORDS["of talk"]  # words without content of their own in a prompt
EVERYDAY = _WORDS["everyday"]  # words that weigh less in a query
SMALL_WORDS = _WORDS["small words"]
OPENERS = _WORDS["openers"]
ACKNOWLEDGED = _WORDS["acknowledged"]


_FAMILIAR = read_words(__file__, "familiar.tsv")

ENDINGS = _FAMILIAR["endings"]
FILES = _FAMILIAR["files"]
COMMONPLACE = _FAMILIAR["commonplace"]
PRODUCTS = _FAMILIAR["products"]
BUILTINS = _FAMILIAR["builtins"]
SCRIPTS = _FAMILIAR["scripts"]
STANDARDS = _FAMILIAR["standards"]
EVERYDAY_NAMES = _FAMILIAR["everyday"]
WRAPPERS = _FAMILIAR["wrappers"]
WRAPPED = _FAMILIAR["wrapped"]
LEADS = _FAMILIAR["leads"]
INTERPRETERS = _FAMILIAR["interpreters"]
VALUED = _FAMILIAR["valued"]
KEYWORDS = _FAMILIAR["keywords"]

HIDDEN = ("rc", "ignore", "attributes", "config", "modules", "profile", "-version", "_history")  # ends of names like .bashrc
LAUNCHERS = frozenset(("bundle exec", "pipenv run", "poetry run", "uv run"))  # Another command follows them, too.
OF_THREE = frozenset(  # The third word of these commands names the program or script.
    ("bun run", "cargo run", "docker compose", "go run", "just run", "npm run", "pnpm run", "yarn run", "yarn workspace")
)
HOSTS = (".ai", ".app", ".com", ".dev", ".edu", ".gov", ".io", ".net", ".org")  # ends of host names before a path
SHELLS = frozenset(("", "bash", "console", "fish", "powershell", "sh", "shell", "shell-session", "terminal", "zsh"))
