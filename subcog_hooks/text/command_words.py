"""Words in a shell's commands that are neither the program nor its arguments."""

MAX_COMMAND = 4_000  # characters of a command that are read
WRAPPERS = frozenset("builtin command doas env exec nice nohup sudo time timeout xargs".split())  # They run a given command.
LEADS = frozenset("! do elif else if then until while {".split())  # keywords before a command
VALUED = frozenset("--context --namespace --prefix -C -f -n -p".split())  # options with a value behind them
