"""The actions, such as a commit, at which a rule comes."""

import os
from collections.abc import Sequence

from subcog_hooks.cli.support import context
from subcog_hooks.cli.support.output import terminal
from subcog_hooks.core.errors import SubcogError
from subcog_hooks.core.paths import working_folder
from subcog_hooks.hook import dry_run
from subcog_hooks.store.memory import Memory
from subcog_hooks.text import actions
from subcog_hooks.text.standing_rules import is_standing

MAX_TRIED = 4  # calls that are tried for an action


def find_promised(memory: Memory) -> Sequence[str]:
    """Return the actions at which the hook brings a memory, after a remark about the others.

    A memory that waits, has conditions, or is of another project cannot be tried here: its text decides.
    """
    governed = actions.actions_of_rule(memory.content) if is_standing(memory.standing, memory.content) else ()
    here = context.here()
    is_here = memory.project is None or (here is not None and memory.project in here.names)
    if not governed or memory.when or not is_here or not memory.is_live(memory.updated_at):
        return governed
    folder = here.root if here else working_folder()
    promised = []
    for action in governed:
        calls = actions.example_calls(action, memory.content)[:MAX_TRIED]
        if any(_brings(memory, tool, tool_input, folder) for tool, tool_input in calls):
            promised.append(action)
        else:
            remedy = _describe_remedy(memory, [tool_input["command"] for tool, tool_input in calls if tool == "Bash"])
            terminal.say(f"it does not come when the agent is about to {actions.describe_action(action)}{remedy}")
    return promised


def _describe_remedy(memory: Memory, commands: Sequence[str]) -> str:
    if not context.settings()["surfacing.tools"]:
        return ": surfacing.tools is false"
    return f'; to make it come: subcog edit {memory.id} --trigger "{commands[0]}"' if commands else ""


def _brings(memory: Memory, tool: str, tool_input: dict[str, str], folder: str) -> bool:
    if "file_path" in tool_input:
        tool_input = {**tool_input, "file_path": os.path.join(folder, tool_input["file_path"])}
    try:
        return memory.id in dry_run.find_ids_at_call(tool, tool_input, folder, context.home())
    except (SubcogError, OSError):
        return False
