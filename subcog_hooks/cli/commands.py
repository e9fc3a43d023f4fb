"""The commands of the terminal, and which module has each. Data, so that a command loads its own module alone."""

MODULES = {  # in the order of the help page
    "remember": ("remember",),
    "search": ("search",),
    "intent": ("intent",),
    "evaluate": ("eval",),
    "brief": ("brief",),
    "block": ("block",),
    "listing": ("list", "show"),
    "change": ("edit", "forget", "supersede"),
    "enrich": ("enrich",),
    "move": ("promote", "demote"),
    "review": ("review",),
    "import_export": ("import", "export", "reindex"),
    "trigger": ("test-trigger",),
    "install": ("init", "uninstall"),
    "models": ("models", "embed-pending"),
    "at_rest": ("at-rest",),
    "doctor": ("doctor",),
    "why": ("why",),
    "replay": ("replay",),
    "stats": ("stats",),
    "config": ("config",),
    "state": ("state",),
    "pause": ("pause", "resume", "hook"),
    "help_topics": ("help",),
}
COMMANDS = tuple(name for names in MODULES.values() for name in names)
