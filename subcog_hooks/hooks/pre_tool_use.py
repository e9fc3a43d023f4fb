"""PreToolUse: what is remembered of the file, the command or the name that a tool is about to touch. The tool itself is let be.

A memory comes when a glob of its paths matches the file, a trigger matches the command or the new text, its conditions name the
tool or the file and hold, or it names the thing exactly as few others do. At most three, none twice in a session.
"""

from subcog_hooks.cues.tools import TOOLS
from subcog_hooks.hooks import occasion as occasions
from subcog_hooks.hooks.payload import text_of
from subcog_hooks.hooks.tool_globs import Search
from subcog_hooks.hooks.touched import read_touched
from subcog_hooks.state import pause
from subcog_hooks.state.decision import REPEATED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from subcog_hooks.deadline import Deadline
    from subcog_hooks.paths import Home

EVENT = "PreToolUse"
MOST = 3  # memories at one call
LEAST = 0.5  # relevance: more than for a prompt, since nobody has asked


def respond(payload: "dict[str, object]", home: "Home", write: "Callable[[bytes], None]", deadline: "Deadline") -> None:
    """Answer one call of a tool: `write` is called once with the output, or not at all. Raises StoreError."""
    if text_of(payload, "tool_name") in TOOLS:
        occasions.with_sound_state(home, lambda: _respond(payload, home, write, deadline))


def _respond(payload: "dict[str, object]", home: "Home", write: "Callable[[bytes], None]", deadline: "Deadline") -> None:
    happened = occasions.open_occasion(payload, home, deadline)
    if happened is None:
        return
    settings = happened.settings
    if not settings["surfacing.enabled"] or not settings["surfacing.tools"] or pause.is_on(happened.state, happened.at):
        return
    tool = text_of(payload, "tool_name")
    given_input = payload.get("tool_input")
    touched = read_touched(tool, given_input if isinstance(given_input, dict) else {}, happened)
    search = Search(touched, happened)
    channels = search.run()
    if search.note:
        happened.log(search.note)
    given = happened.given()
    if not any(memory.id not in given for memories in channels.values() for memory in memories):
        return  # most calls end here: nothing is remembered of what is touched, or it has been told
    from subcog_hooks.hooks import record  # 3 ms, and what it says is rare
    from subcog_hooks.hooks.delivery import deliver
    from subcog_hooks.hooks.exact_offer import Terms, offer_exact
    from subcog_hooks.recall.exact import Exact

    terms = Terms(
        max(LEAST, float(settings["surfacing.min_relevance"])),
        min(MOST, int(settings["surfacing.max_memories"])),
        int(settings["surfacing.max_characters"]),
        float(settings["diversity.near_duplicate"]),
        {"tool": tool},
    )
    verdict = offer_exact(happened, Exact(channels, search.note), terms, tool)
    assert verdict.offer is not None
    delivery = deliver(happened, EVENT, verdict.offer, write)
    if delivery.outcome != REPEATED:  # at every further touch of a file: nobody asks why, and prompts' records would go for it
        record.keep(happened, EVENT, verdict, delivery)
