"""`subcog at-rest`, and the list of its jobs: when each is wanted and due, and the function that does it."""

import os
from collections.abc import Callable
from contextlib import closing, suppress
from importlib import import_module

from subcog_hooks.cli.jobs import background_jobs
from subcog_hooks.cli.jobs.background_jobs import Job, JobPace
from subcog_hooks.cli.terminal import context
from subcog_hooks.core import log
from subcog_hooks.core.errors import StoreError, SubcogError
from subcog_hooks.core.paths import Home
from subcog_hooks.embed import catch_up
from subcog_hooks.settings import defaults
from subcog_hooks.settings.defaults import Settings
from subcog_hooks.store import learned, lessons, state_values
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store

DUE_CHECK_WAIT_MS = 50.0
MINUTE_S, HOUR_S = 60.0, 3_600.0
LIGHT_S = 2.0  # seconds that embed some hundred memories


def has_due_lessons(home: Home) -> bool:
    """Return whether openings may teach, or questions learned from prompts have to be checked again."""
    with suppress(StoreError), context.existing_state(home, DUE_CHECK_WAIT_MS) as state:
        return state is not None and _has_lessons_in(home, state)
    return False


def _has_lessons_in(home: Home, state: State) -> bool:
    if lessons.is_teaching_due(state, now_ms()):
        return True
    if lessons.has_taught(state) or _has_learned_questions(home):
        return not lessons.has_taught(state)
    lessons.take_teaching(state, now_ms())  # all memories were checked, once for this state
    return False


def _has_learned_questions(home: Home) -> bool:
    """Return whether memories have questions from records. Their state may be gone."""
    if not os.path.exists(home.memories_db):
        return False
    with Store.reader(home) as store:
        return bool(store.with_recorded_questions())


def has_unasked_changes(home: Home) -> bool:
    """Return whether the store has changed since a model was last asked about all memories."""
    if not os.path.exists(home.memories_db):
        return False
    with suppress(StoreError), Store.reader(home) as store, closing(State.open(home, DUE_CHECK_WAIT_MS)) as state:
        return state_values.find_asked_revision(state) != store.revision()
    return False


def has_old_proposals(home: Home) -> bool:
    """Return whether a proposal is so old that it is dropped where it still waits."""
    with suppress(StoreError), context.existing_state(home, DUE_CHECK_WAIT_MS) as state:
        return state is not None and bool(learned.find_old_proposals(state, now_ms()))
    return False


def _always(_: object) -> bool:
    return True


def _wants_notes(settings: Settings) -> bool:
    return bool(settings[defaults.NOTES_SETTING])


def _wants_sessions(settings: Settings) -> bool:
    return settings[defaults.SESSIONS_SETTING] != defaults.NOT_LEARNED


def _wants_synchronising(settings: Settings) -> bool:
    return bool(settings[defaults.SHARE_URL] and settings[defaults.SHARE_IN_BACKGROUND])


def _wants_questions(settings: Settings) -> bool:
    return bool(settings[defaults.ENRICH]) and settings[defaults.BACKGROUND_LLM] != defaults.NO_LLM


def wants_model_proposals(settings: Settings) -> bool:
    """Return whether a model reads sessions in the background: it may, and its notes are wanted."""
    if settings[defaults.SESSIONS_SETTING] not in (defaults.LEARNED_IN_BACKGROUND, defaults.AT_ONCE):
        return False
    may_read = bool(settings[defaults.LLM_LEARNS] and settings[defaults.AGENT_WORDS])
    return may_read and settings[defaults.BACKGROUND_LLM] != defaults.NO_LLM


def _run_later(module: str, name: str) -> Callable[[Home, JobPace], str]:
    """Return a function that imports a job's module of `cli` when it runs: a command that ends needs none of them."""

    def run(home: Home, pace: JobPace) -> str:
        return str(getattr(import_module(f"subcog_hooks.cli.{module}"), name)(home, pace))

    return run


_import_notes = _run_later("agents.claude_notes", "import_in_background")
_repeat_imports = _run_later("import_from", "repeat_in_background")
_learn_sessions = _run_later("proposals.learning_runs", "learn_in_background")
_ask_model = _run_later("proposals.asking", "ask_in_background")
_end_unwanted = _run_later("proposals.waiting", "end_unwanted")
_teach_questions = _run_later("proposals.teaching", "teach_in_background")
_write_questions = _run_later("proposals.enrichment", "enrich_in_background")


def _synchronise_team(home: Home, pace: JobPace) -> str:
    from subcog_hooks.cli.team import sharing

    sharing.synchronise_in_background(home, context.settings(), pace)
    return ""  # `share status` shows the result


def _embed_memories(home: Home, pace: JobPace) -> str:
    count = catch_up.embed_all_pending(home, pace)
    return f"{count:,} {'memory or question' if count == 1 else 'memories and questions'} embedded" if count else ""


JOBS = (  # in the order of their runs: the last one embeds the memories that the others store
    Job("Claude Code's notes", 10 * MINUTE_S, 10 * MINUTE_S, _wants_notes, _always, _import_notes),
    Job("imports", 10 * MINUTE_S, 10 * MINUTE_S, _always, lambda home: os.path.exists(home.imports), _repeat_imports),
    Job("sessions", 6 * HOUR_S, 10 * MINUTE_S, _wants_sessions, _always, _learn_sessions),
    # After the job that needs no model: its proposals in the person's own words come first.
    Job("sessions by a model", 6 * HOUR_S, HOUR_S, wants_model_proposals, _always, _ask_model),
    Job("unanswered proposals", 6 * HOUR_S, 10 * MINUTE_S, _always, has_old_proposals, _end_unwanted),
    Job("learned questions", 0.0, MINUTE_S, _always, has_due_lessons, _teach_questions),
    Job("questions by a model", 0.0, HOUR_S, _wants_questions, has_unasked_changes, _write_questions),
    Job("team", 10 * MINUTE_S, 10 * MINUTE_S, _wants_synchronising, _always, _synchronise_team),
    Job("embedding", 0.0, HOUR_S, catch_up.is_enabled, catch_up.is_embedding_due, _embed_memories, LIGHT_S),
)


def run_background_jobs() -> None:
    """Run background work. Sessions that begin and commands that end start it."""
    home = context.home()
    try:
        background_jobs.run_due_jobs(home, JOBS)
    except SubcogError as error:
        log.write_line(home, f"the work at rest failed: {error.message}")  # nobody sees the output of a detached process
        raise
