"""`subcog at-rest`: the list of background jobs, and when each is due."""

import os

import typer

from subcog_hooks.cli.jobs import background_jobs
from subcog_hooks.cli.jobs.background_jobs import Breath, Job
from subcog_hooks.cli.support import context, trial_folders
from subcog_hooks.core import log
from subcog_hooks.core.errors import StoreError, SubcogError
from subcog_hooks.core.paths import Home
from subcog_hooks.embed import background
from subcog_hooks.hook.session import BACKGROUND_COMMAND
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
from subcog_hooks.store import state_values, suggestions
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store

LOOK_WAIT_MS = 50.0


def has_lessons(home: Home) -> bool:
    """Return whether second looks, or what was learned from prompts, are to be gone through again."""
    if not os.path.exists(home.state_db):
        return False
    try:
        state = State.open(home, LOOK_WAIT_MS)
    except StoreError:
        return False
    try:
        return _has_lessons(home, state)
    except StoreError:
        return False
    finally:
        state.close()


def _has_lessons(home: Home, state: State) -> bool:
    if suggestions.is_teaching_due(state, now_ms()):
        return True
    if suggestions.has_taught(state) or _has_learned(home):
        return not suggestions.has_taught(state)
    suggestions.take_teaching(state, now_ms())  # all memories were looked through, once for this state
    return False


def _has_learned(home: Home) -> bool:
    """Return whether memories have questions out of records, which may be gone with the state that had them."""
    if not os.path.exists(home.memories_db):
        return False
    with Store.reader(home) as store:
        return bool(store.with_recorded_questions())


def has_unasked(home: Home) -> bool:
    """Return whether the store has changed since a model was asked about all that it holds."""
    if not os.path.exists(home.memories_db):
        return False
    try:
        with Store.reader(home) as store:
            revision = store.revision()
        state = State.open(home, LOOK_WAIT_MS)
    except StoreError:
        return False
    try:
        return state_values.find_asked_revision(state) != revision
    finally:
        state.close()


MINUTE_S, HOUR_S = 60.0, 3_600.0


def register(app: typer.Typer) -> None:
    app.command(name=BACKGROUND_COMMAND, hidden=True)(at_rest)


def at_rest() -> None:
    """Run background work. Sessions that begin and commands that end start it."""
    home = context.home()
    trial_folders.remove_left(home)
    try:
        background_jobs.work(home, JOBS)
    except SubcogError as error:
        log.write(home, f"the work at rest failed: {error.message}")  # started apart, nobody sees what it says
        raise


def start_if_due(home: Home) -> bool:
    """Start the process at the end of a command, where there is something for it to do. Return whether it was started."""
    return background_jobs.start_if_due(home, JOBS)


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
    from subcog_hooks.cli.proposals import learning_runs  # as above

    return learning_runs.at_rest(home, breath)


def _ask(home: Home, breath: Breath) -> str:
    from subcog_hooks.cli.proposals import asking  # as above

    return asking.at_rest(home, breath)


def _teach(home: Home, breath: Breath) -> str:
    from subcog_hooks.cli.proposals import teaching  # as above

    return teaching.at_rest(home, breath)


def _enrich(home: Home, breath: Breath) -> str:
    from subcog_hooks.cli.proposals import enrichment  # as above

    return enrichment.at_rest(home, breath)


def _share(home: Home, breath: Breath) -> str:
    from subcog_hooks.cli.support import context
    from subcog_hooks.cli.team import sharing  # as above

    sharing.share_quietly(home, context.settings(), breath)
    return ""  # `share status` tells it


def _embed(home: Home, breath: Breath) -> str:
    done = background.embed_all_pending(home, breath)
    return f"{done:,} {'memory or question' if done == 1 else 'memories and questions'} embedded" if done else ""


JOBS = (  # in the order in which they are done: what the first ones store is embedded by the last
    Job("Claude Code's notes", 10 * MINUTE_S, 10 * MINUTE_S, lambda found: bool(found[NOTES_SETTING]), _always, _take_notes),
    Job("sessions", 6 * HOUR_S, 10 * MINUTE_S, lambda found: found[SESSIONS_SETTING] != NOT_LEARNED, _always, _learn),
    Job("sessions by a model", 6 * HOUR_S, HOUR_S, _wants_words, _always, _ask),  # after the floor, whose words stand first
    Job("learned questions", 0.0, MINUTE_S, _always_wanted, has_lessons, _teach),  # it takes back what is not wanted
    Job("questions by a model", 0.0, HOUR_S, _wants_questions, has_unasked, _enrich),
    Job("team", 10 * MINUTE_S, 10 * MINUTE_S, lambda found: bool(found[SHARE_URL] and found[SHARE_AT_REST]), _always, _share),
    Job("embedding", 0.0, HOUR_S, background.is_enabled, background.is_embedding_due, _embed),
)
