"""The hook answers prompts in this process, and what it did with each. No measuring here.

Everything that decides is the package's own code, from the prompt's text to the printed block. The files are opened once, for
all prompts; what the hook keeps goes to a state.db that is thrown away.
"""

import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self
from unittest.mock import patch

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.paths import Home
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.embed.static_encoder import StaticEncoder, encode_by_language
from subcog_hooks.hook import deliver, prompt_search
from subcog_hooks.hook import prompt as hook
from subcog_hooks.hook.call import HookCall
from subcog_hooks.hook.prompt_reading import PromptReading
from subcog_hooks.recall import fusion, pipeline, vectors
from subcog_hooks.recall.candidates import Sources
from subcog_hooks.recall.hits import Answer
from subcog_hooks.settings.defaults import Settings
from subcog_hooks.settings.sources import KEYS
from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from subcog_hooks.store.vector_store import VectorStore
from tests.eval.collection import Prompt
from tests.eval.systems import FROZEN_MS, PATIENCE_MS

THRESHOLD = "surfacing.min_relevance"
DEFAULT_THRESHOLD = float(KEYS[THRESHOLD].default)

_HEAD = re.compile(r"^\[\S+ \d{4}-\d\d-\d\d ([^\s,\]]+)[^\]]*\] ", re.MULTILINE)  # of a memory's line in the block


class Candidate(NamedTuple):
    """A memory that the hook looked at. relevance: the final one, which the threshold is for."""

    id: str
    relevance: float
    is_relevant: bool


class Trial(NamedTuple):
    """What the hook did with a prompt.

    candidates: most relevant first, none where it did not look for any; given: the ids that it printed, in their order.
    """

    prompt: Prompt
    candidates: tuple[Candidate, ...]
    given: tuple[str, ...]

    @property
    def speaks(self) -> bool:
        return bool(self.given)

    @property
    def right(self) -> int:
        """How many of the memories that it printed answer the prompt."""
        return sum(one in self.prompt.relevant for one in self.given)

    @property
    def is_first_right(self) -> bool:
        return bool(self.given) and self.given[0] in self.prompt.relevant


class Hook:
    """The prompt hook over an open home."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._stack = ExitStack()
        self._index = LexicalIndex.open(home)
        self._store = Store.reader(home)
        self._stack.callback(self._store.close)
        self._vectors = VectorStore.reader(home, PACKAGED.name, PACKAGED.dimension)
        self._stack.callback(self._vectors.close)
        self._space = vectors.SearchSpace(self._vectors, encode_by_language(StaticEncoder.open().encode))
        aside = Path(self._stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        self._state = State.open(Home(str(aside)), PATIENCE_MS)
        self._stack.callback(self._state.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def trials(self, prompts: Iterable[Prompt], threshold: float = DEFAULT_THRESHOLD) -> list[Trial]:
        """Try each prompt in a session of its own. threshold: `surfacing.min_relevance`.

        Raises RuntimeError when recall did less than it should have.
        """
        settings = Settings({THRESHOLD: threshold})
        with self._instead(settings):
            return [self._trial(prompt, settings) for prompt in prompts]

    def _trial(self, prompt: Prompt, settings: Settings) -> Trial:
        deadline = Deadline(PATIENCE_MS)
        asked = HookCall({"prompt": prompt.text}, "", None, settings, self._state, self._home, deadline)
        asked._store = self._store  # opened once, as the rest
        asked.now_ms = FROZEN_MS
        verdict = hook.decide_prompt(PromptReading(asked))
        if verdict.error is not None:
            raise RuntimeError(f"{prompt.text[:80]}: {verdict.error}")
        if verdict.offer is not None:
            deliver.preview_delivery(asked, verdict)
        hits = sorted((judgement.hit for judgement in verdict.judgements), key=lambda hit: -hit.relevance)
        candidates = (Candidate(hit.memory.id, hit.relevance, hit.memory.id in prompt.relevant) for hit in hits)
        return Trial(prompt, tuple(candidates), verdict.ids)

    @contextmanager
    def _instead(self, settings: Settings) -> Iterator[None]:
        """The hook with what is open here, and a clock that stands."""
        for_prompt = pipeline.recall_for_prompt
        sources = Sources(self._index, self._store, self._space, fusion.tuning_from_settings(settings))

        def whole(text: str, *others: Any, **named: Any) -> Answer:  # Any: whatever recall asks for
            answer = for_prompt(text, *others, **named)
            if answer.is_degraded:
                raise RuntimeError(f"{text[:80]}: {answer.note}")
            return answer

        with patch.object(prompt_search, "open_sources", lambda _: sources), patch.object(pipeline, "recall_for_prompt", whole):
            yield


def ids_in(printed: Sequence[bytes]) -> tuple[str, ...]:
    """The ids of the memories in what the hook has written, in their order."""
    if not printed:
        return ()
    (line,) = printed
    return tuple(_HEAD.findall(json.loads(line)["hookSpecificOutput"]["additionalContext"]))
