"""`subcog at-rest`: what a session's start leaves to be done in the background. Nobody types it."""

import os

import typer

from subcog_hooks import log
from subcog_hooks.cli.support import claude_notes, learning, session
from subcog_hooks.embed import background
from subcog_hooks.errors import StoreBusy, SubcogError
from subcog_hooks.hooks import detached
from subcog_hooks.hooks.session_start import RESTING_COMMAND
from subcog_hooks.memory.lock import ProcessLock
from subcog_hooks.settings.keys import NOT_LEARNED

LOCK = "at-rest.lock"


def register(app: typer.Typer) -> None:
    app.command(name=RESTING_COMMAND, hidden=True)(at_rest)


def at_rest() -> None:
    """Work on what waits for a quiet moment; started by a session that begins, in the background."""
    home = session.home()
    detached.yield_to_others()
    try:
        with ProcessLock(os.path.join(home.root, LOCK), 0, "working at rest"):
            if session.settings()[claude_notes.NOTES_SETTING]:
                _take_notes()
            if session.settings()[learning.SESSIONS_SETTING] != NOT_LEARNED:
                _learn()
            if session.settings()["share.url"]:
                from subcog_hooks.cli.support import sharing  # few share

                sharing.share_at_rest(home, session.settings())
    except StoreBusy:
        return  # another process is at it
    if background.is_allowed(session.settings()):
        background.run(home)


def _take_notes() -> None:
    home = session.home()
    try:
        claude_notes.take_over(home)
    except Exception as error:  # noqa: BLE001 - nobody sees this process: whatever it is, `doctor` tells it
        why = str(error) if isinstance(error, SubcogError) else f"an internal error: {type(error).__name__}"
        log.write(home, f"Claude Code's notes were not taken over: {why}")
        claude_notes.note_failure(home, why)


def _learn() -> None:
    home = session.home()
    try:
        learning.at_rest(home)
    except Exception as error:  # noqa: BLE001 - as above
        why = str(error) if isinstance(error, SubcogError) else f"an internal error: {type(error).__name__}"
        log.write(home, f"sessions were not looked at: {why}")
