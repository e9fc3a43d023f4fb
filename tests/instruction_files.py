"""Instruction files of all agents in one project, and those that each agent puts before the model: found with the real ones."""

from collections.abc import Collection, Iterable
from pathlib import Path

HOME, SLUG = "~/", "{slug}"
NARROWED = {".claude/rules/src.md": "paths: src/**", ".qwen/rules/src.md": "paths: src/**"}
NARROWED |= {".github/instructions/ts.instructions.md": 'applyTo: "**/*.ts"', ".cursor/rules/asked.mdc": "alwaysApply: false"}
ALWAYS = {".github/instructions/all.instructions.md": 'applyTo: "**"', ".cursor/rules/all.mdc": "alwaysApply: true"}
IMPORTS = {"AGENTS.md": "docs/agents.md", "CLAUDE.md": "docs/claude.md", "GEMINI.md": "docs/gemini.md"}
IMPORTED = tuple(IMPORTS.values())
MEMORY = "~/.claude/projects/{slug}/memory/MEMORY.md"
BELOW = ("sub/AGENTS.md", "sub/CLAUDE.md", "sub/GEMINI.md", "sub/QWEN.md")
CLAUDE_MD = {"CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md", "docs/claude.md"}
CLAUDE_RULES = {".claude/rules/all.md", "~/.claude/CLAUDE.md", "~/.claude/rules/all.md"}
LOADED = {
    "claude": CLAUDE_MD | CLAUDE_RULES | {MEMORY},
    "codex": {"AGENTS.override.md", "~/.codex/AGENTS.md"},
    "gemini": {"GEMINI.md", "docs/gemini.md", "~/.gemini/GEMINI.md"},
    "qwen": {"QWEN.md", "AGENTS.md", "docs/agents.md", ".qwen/rules/all.md", "~/.qwen/QWEN.md", "~/.qwen/AGENTS.md"},
    "opencode": {"AGENTS.md", "~/.config/opencode/AGENTS.md"},
    "copilot": {
        *("AGENTS.md", "CLAUDE.md", "GEMINI.md", "docs/agents.md", "docs/claude.md", ".claude/rules/all.md"),
        *(
            ".github/copilot-instructions.md",
            ".github/instructions/a.instructions.md",
            ".github/instructions/all.instructions.md",
        ),
        *("~/.copilot/copilot-instructions.md", "~/.copilot/instructions/a.instructions.md"),
    },
    "cursor": {"AGENTS.md", ".cursorrules", ".cursor/rules/all.mdc"},  # This one and the next are from documents.
    "droid": {"AGENTS.md", "~/.factory/AGENTS.md"},
}
LOADED_BELOW = {  # further files where the session began in the folder `sub`
    "claude": {"sub/CLAUDE.md"},
    **{client: {"sub/AGENTS.md"} for client in ("codex", "opencode", "cursor", "droid")},
    "gemini": {"sub/GEMINI.md"},
    "qwen": {"sub/AGENTS.md", "sub/QWEN.md"},
    "copilot": {"sub/AGENTS.md", "sub/CLAUDE.md", "sub/GEMINI.md"},
}
FILES = tuple(sorted({*NARROWED, *BELOW, *(name for names in LOADED.values() for name in names)}))


def text_of(name: str) -> str:
    """Return the text of an instruction file: its mark is its name."""
    fields = {**NARROWED, **ALWAYS}.get(name)
    imported = f"@{IMPORTS[name]}\n\n" if name in IMPORTS else ""
    return (f"---\n{fields}\n---\n" if fields else "") + f"# Rules\n\n{imported}{mark_of(name)}\n"


def mark_of(name: str) -> str:
    """Return the sentence that stands in a file of this name alone."""
    return f"The crane of {name.replace('@', '')} is painted."


def write_files(project: Path, home: Path, names: Iterable[str] = FILES, slug: str = "-elsewhere") -> None:
    """Write instruction files of these names. slug: Claude Code's name of the project."""
    for name in names:
        path = home / name.removeprefix(HOME).replace(SLUG, slug) if name.startswith(HOME) else project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text_of(name), encoding="utf-8")


def marked_in(text: str, names: Collection[str] = FILES) -> set[str]:
    """Return the names of the files whose mark stands in a text."""
    return {name for name in names if mark_of(name) in text}
