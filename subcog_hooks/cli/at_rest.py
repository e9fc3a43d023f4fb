"""`subcog at-rest`: what sessions that begin and commands that end leave to be done in the background. Nobody types it."""

import typer

from subcog_hooks import log
from subcog_hooks.cli.rest import due, resting
from subcog_hooks.cli.rest.breath import Breath
from subcog_hooks.cli.rest.resting import Job
from subcog_hooks.cli.support import session, trial_folders
from subcog_hooks.embed import background
from subcog_hooks.errors import SubcogError
from subcog_hooks.hooks.session_start import RESTING_COMMAND
from subcog_hooks.paths import Home
from subcog_hooks.settings.defaults import (
    AT_REST,
    ENRICH,
    LEARNED_AT_REST,
    LLM_LEARNS,
    NO_LLM,
    NOT_LEARNED,
    NOTES_SETTING,
    SESSIONS_SETTING,
    SHARE_AT_REST,
    SHARE_URL,
)
from subcog_hooks.settings.loading import Settings

MINUTE_S, HOUR_S = 60.0, 3_600.0


def register(app: typer.Typer) -> None:
    app.command(name=RESTING_COMMAND, hidden=True)(at_rest)


def at_rest() -> None:
    """Run background work. Sessions that begin and commands that end start it."""
    home = session.home()
    trial_folders.remove_left(home)
    try:
        resting.work(home, JOBS)
    except SubcogError as error:
        log.write(home, f"the work at rest failed: {error.message}")  # started apart, nobody sees what it says
        raise


def start_if_due(home: Home) -> bool:
    """Start the process at the end of a command, where there is something for it to do. Return whether it was started."""
    return resting.start_if_due(home, JOBS)


def _always(_: Home) -> bool:
    return True


def _always_wanted(_: Settings) -> bool:
    return True


def _wants_questions(found: Settings) -> bool:
    return bool(found[ENRICH]) and found[AT_REST] != NO_LLM


def _wants_words(found: Settings) -> bool:
    is_asked = bool(found[LLM_LEARNS]) and found[AT_REST] != NO_LLM
    return is_asked and found[SESSIONS_SETTING] == LEARNED_AT_REST


def _take_notes(home: Home, breath: Breath) -> str:
    from subcog_hooks.cli.claude_code import claude_notes  # commands that end have no use for what the jobs need

    return claude_notes.at_rest(home, breath)


def _learn(home: Home, breath: Breath) -> str:
    from subcog_hooks.cli.transcripts import learning  # as above

    return learning.at_rest(home, breath)


def _ask(home: Home, breath: Breath) -> str:
    from subcog_hooks.cli.transcripts import asking  # as above

    return asking.at_rest(home, breath)


def _teach(home: Home, breath: Breath) -> str:
    from subcog_hooks.cli.suggesting import teaching  # as above

    return teaching.at_rest(home, breath)


def _enrich(home: Home, breath: Breath) -> str:
    from subcog_hooks.cli.suggesting import enrichment  # as above

    return enrichment.at_rest(home, breath)


def _share(home: Home, breath: Breath) -> str:
    from subcog_hooks.cli.support import session
    from subcog_hooks.cli.team import sharing  # as above

    sharing.share_quietly(home, session.settings(), breath)
    return ""  # `share status` tells it


def _embed(home: Home, breath: Breath) -> str:
    done = background.run(home, breath)
    return f"{done:,} {'memory or question' if done == 1 else 'memories and questions'} embedded" if done else ""


JOBS = (  # in the order in which they are done: what the first ones store is embedded by the last
    Job("Claude Code's notes", 10 * MINUTE_S, 10 * MINUTE_S, lambda found: bool(found[NOTES_SETTING]), _always, _take_notes),
    Job("sessions", 6 * HOUR_S, 10 * MINUTE_S, lambda found: found[SESSIONS_SETTING] != NOT_LEARNED, _always, _learn),
    Job("sessions by a model", 6 * HOUR_S, HOUR_S, _wants_words, _always, _ask),  # after the floor, whose words stand first
    Job("learned questions", 0.0, MINUTE_S, _always_wanted, due.has_lessons, _teach),  # it takes back what is not wanted
    Job("questions by a model", 0.0, HOUR_S, _wants_questions, due.has_unasked, _enrich),
    Job("team", 10 * MINUTE_S, 10 * MINUTE_S, lambda found: bool(found[SHARE_URL] and found[SHARE_AT_REST]), _always, _share),
    Job("embedding", 0.0, HOUR_S, background.is_wanted, background.is_due, _embed),
)
