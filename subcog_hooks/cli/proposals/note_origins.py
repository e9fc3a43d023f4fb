"""Finds the prompt that a note comes from: a replay must not count it as the note's success."""

import re
from collections.abc import Iterable

from subcog_hooks.hook.typed_note import note_in_prompt
from subcog_hooks.learn import proposals
from subcog_hooks.settings.defaults import BY_HASH
from subcog_hooks.store.memory import Memory

OPENING_WORDS = 3  # words of a note that a longer prompt must have; a shorter note must be all of the prompt
SLACK_MS = 60_000  # A hook, a transcript and a list of prompts date the same prompt some seconds apart.


class NoteOrigins:
    """The origins of notes: the prompts that have their text, and the sessions that they were learned from."""

    def __init__(self, memories: Iterable[Memory]) -> None:
        self._by_opening: dict[tuple[str, ...], list[tuple[list[str], str]]] = {}
        self._by_session: dict[str, list[Memory]] = {}
        for memory in memories:
            if words := _words(memory.content):
                self._by_opening.setdefault(tuple(words[:OPENING_WORDS]), []).append((words, memory.id))
            if proposals.is_from_session(memory):
                self._by_session.setdefault(proposals.session_id(memory), []).append(memory)

    def ids_from(self, prompt: str, session: str, at_ms: int) -> set[str]:
        """Return the notes that come from a prompt: it has their text, or leads to the turn of its session that taught them.

        at_ms: milliseconds since the epoch, 0 for unknown.
        """
        taught = self._by_session.get(session, ()) if at_ms else ()
        ids = {memory.id for memory in taught if at_ms <= memory.created_at + SLACK_MS}
        words = _words(note_in_prompt(prompt, BY_HASH) or prompt)
        ids |= {id_ for note, id_ in self._by_opening.get(tuple(words), ()) if note == words}
        for start in range(len(words) - OPENING_WORDS + 1):
            for note, id_ in self._by_opening.get(tuple(words[start : start + OPENING_WORDS]), ()):
                if note == words[start : start + len(note)]:
                    ids.add(id_)
        return ids


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
