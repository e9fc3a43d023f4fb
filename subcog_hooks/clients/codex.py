"""OpenAI's Codex CLI: Claude Code's contract, but edits are patches, and a text over 10,000 bytes is cut in its middle.

After a compaction it asks for a new start with the next prompt, but not where the session is ended before.
"""

from __future__ import annotations

from subcog_hooks.clients import description
from subcog_hooks.clients.description import GROUPS, TO_BE_COMPACTED, Client, Contract, Place, Settings, read_texts, same
from subcog_hooks.core import light_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ON_TERMINAL = "cli"  # `codex exec` writes another source into its session.
MAX_FIRST_LINE = 256 * 1024  # bytes; the line has Codex's instructions for the model, of 20 kB.


def is_on_terminal(payload: Mapping[str, object]) -> bool:
    """Return whether the session was begun on a terminal, by the first line of its file."""
    from subcog_hooks.core.files import read_regular  # Few prompts are notes.

    path = payload.get("transcript_path")
    try:
        line = read_regular(path if isinstance(path, str) else "", MAX_FIRST_LINE).partition(b"\n")[0]
        session = light_json.loads(line.decode())
    except (OSError, ValueError):
        return False
    fields = session.get("payload") if isinstance(session, dict) else None
    return isinstance(fields, dict) and fields.get("source") == ON_TERMINAL


def read_instructions(place: Place) -> Iterator[str]:
    """Yield the AGENTS.md files that Codex puts before the model, of which another may stand in for each."""
    names = ("AGENTS.override.md", "AGENTS.md")
    return read_texts(description.first_files([CLIENT.settings.folder_path, *place.folders()], names))


CLIENT = Client(
    "codex",
    "Codex CLI",
    Settings(
        ".codex",
        "hooks.json",
        GROUPS,
        variable="CODEX_HOME",
        # Codex cuts a longer limit of SessionEnd to 3 seconds, and its hash of the hook has the limit that counts.
        hook={"type": "command", "timeout": 3},
        next_step="Codex runs it once you trust it: start `codex` in a terminal, which asks. `codex exec` does not ask",
        has_trust=True,
    ),
    Contract(
        same("SessionStart", "UserPromptSubmit", "PreToolUse", "Stop", "SessionEnd") | {"PreCompact": TO_BE_COMPACTED},
        max_bytes=10_000,
        keeps_start=True,
        sees_person=is_on_terminal,
    ),
    "sessions/*/*/*/rollout-*.jsonl",
    read_instructions=read_instructions,
)
