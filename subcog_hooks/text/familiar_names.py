"""Words that distinguish names in texts from other words: endings and names of files, commands, products."""

from subcog_hooks.core.files import read_words

_WORDS = read_words(__file__, "familiar.tsv")

ENDINGS = _WORDS["endings"]
FILES = _WORDS["files"]
COMMONPLACE = _WORDS["commonplace"]
PRODUCTS = _WORDS["products"]
BUILTINS = _WORDS["builtins"]
SCRIPTS = _WORDS["scripts"]
STANDARDS = _WORDS["standards"]
EVERYDAY = _WORDS["everyday"]
WRAPPERS = _WORDS["wrappers"]
WRAPPED = _WORDS["wrapped"]
LEADS = _WORDS["leads"]
INTERPRETERS = _WORDS["interpreters"]
VALUED = _WORDS["valued"]
KEYWORDS = _WORDS["keywords"]

HIDDEN = ("rc", "ignore", "attributes", "config", "modules", "profile", "-version", "_history")  # ends of names like .bashrc
LAUNCHERS = frozenset(("bundle exec", "pipenv run", "poetry run", "uv run"))  # Another command follows them, too.
OF_THREE = frozenset(  # The third word of these commands names the program or script.
    ("bun run", "cargo run", "docker compose", "go run", "just run", "npm run", "pnpm run", "yarn run", "yarn workspace")
)
HOSTS = (".ai", ".app", ".com", ".dev", ".edu", ".gov", ".io", ".net", ".org")  # ends of host names before a path
SHELLS = frozenset(("", "bash", "console", "fish", "powershell", "sh", "shell", "shell-session", "terminal", "zsh"))
