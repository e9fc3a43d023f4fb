"""The work at rest that a command leaves behind: started here, done by `subcog at-rest`."""

import os

from subcog_hooks import log
from subcog_hooks.cli.support import session
from subcog_hooks.embed import background
from subcog_hooks.hooks import detached
from subcog_hooks.hooks.session_start import RESTING_COMMAND
from subcog_hooks.settings.keys import NO_LLM

ENRICH, PROVIDER = "llm.enrich", "llm.at_rest"  # settings


def enrich_afterwards() -> None:
    """Start it where what was just stored is to get its questions from a model: for the end of a command, never for a hook."""
    settings = session.settings()
    if not settings[ENRICH] or settings[PROVIDER] == NO_LLM or os.environ.get(background.SWITCH) == "0":
        return
    try:
        detached.start(session.home(), [RESTING_COMMAND])
    except OSError as error:
        log.write(session.home(), f"the work at rest was not started: {error}")
