"""Earlier prompts: the memories that would come to them today, and the questions that a memory learns from them."""

from collections.abc import Collection, Sequence
from functools import partial

from subcog_hooks.cli.search_sources import open_sources
from subcog_hooks.cli.terminal import context
from subcog_hooks.core.deadline import Deadline
from subcog_hooks.hook.payload import PROMPT_EVENT
from subcog_hooks.intent.keywords import Intent
from subcog_hooks.recall import pipeline
from subcog_hooks.recall.candidates import Request, Sources
from subcog_hooks.recall.search import search_page
from subcog_hooks.store import past_runs
from subcog_hooks.store.memory import LEARNED, MAX_QUESTION, AnsweredQuestion, Memory
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Filter, audiences_of
from subcog_hooks.store.verdicts import MAX_VERDICTS, RecordedVerdict
from subcog_hooks.text import typed_prompt
from subcog_hooks.text.typed_prompt import prepare_prompt, query_text

MAX_OTHERS = 50  # prompts from which a learned question may take no memory
SEARCH_MS = 10_000.0  # No prompt waits for this search.


def find_coming(prompts: Sequence[RecordedVerdict], store: Store) -> list[list[str]]:
    """Return for each prompt the ids of the memories that would come by its words, the most relevant first.

    A prompt keeps the intent and the limits of its verdict. Raises StoreError.
    """
    with open_sources(store, context.settings(), fast=True) as sources:
        return [_find_coming_to(prompt, sources) for prompt in prompts]


def _find_coming_to(prompt: RecordedVerdict, sources: Sources) -> list[str]:
    if prompt.prompt is None or prompt.intent is None or prompt.settings is None:
        return []
    if not prompt.strategies or prompt.reason:  # The hook did not search, or a language model's veto kept it silent.
        return []
    text = "\n".join((query_text(prompt.prompt), *prompt.borrowed))
    scope = Filter(audiences=audiences_of(*filter(None, [prompt.project])))
    hits = search_page(Request(text, scope), sources, Deadline(SEARCH_MS), pipeline.PROMPT_CANDIDATES).hits
    pipeline.weigh_for_prompt(hits, Intent(prompt.intent.type, prompt.intent.confidence), 1)
    pipeline.discount_marked_hits(hits, text, sources.store, lambda: sources.index)
    relevant = [hit for hit in pipeline.sort_by_relevance(hits) if hit.relevance >= prompt.settings.needed]
    return [hit.memory.id for hit in relevant[: prompt.settings.max_memories]]


def needs_of(verdict: RecordedVerdict) -> list[str]:
    """Return the texts of a verdict's prompt that can serve as a question, the likeliest first.

    The order is: a follow-up prompt with its borrowed topics, questions, the typed text, other sentences, the failure line.
    """
    prepared = prepare_prompt(verdict.prompt or "")
    typed = query_text(verdict.prompt or "", prepared)
    parts = typed_prompt.separate_needs(typed)
    borrowed = [" ".join((typed, *verdict.borrowed))] if verdict.borrowed else []
    texts = [*borrowed, *filter(typed_prompt.is_question, parts), typed, *parts, *prepared.failures]
    return list(dict.fromkeys(_shorten(" ".join(text.split())) for text in texts if text.strip()))


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_QUESTION else text[: MAX_QUESTION + 1].rpartition(" ")[0] or text[:MAX_QUESTION]


def learn_question(memory: Memory, texts: Sequence[str], missed: RecordedVerdict, state: State, verdict: str = "") -> str:
    """Give a memory the first question that brings it to a prompt, and return it; "" for none.

    A question that takes a memory from another of the last prompts is removed again. verdict: the question is removed with
    this record. Raises StoreError.
    """
    recorded = past_runs.find_latest(state, MAX_VERDICTS, event=PROMPT_EVENT)
    others = [other for other in recorded if other.injected and other.prompt != missed.prompt][:MAX_OTHERS]
    with context.writing() as store:
        before = find_coming(others, store)
        for text in texts:
            question = AnsweredQuestion(text, LEARNED, verdict)
            is_right = False
            try:
                store.modify([memory.id], partial(_with_question, question=question))
                coming, *after = find_coming([missed, *others], store)
                is_right = memory.id in coming and not any({*had} - {*has} for had, has in zip(before, after, strict=True))
            finally:
                if not is_right:
                    store.modify([memory.id], partial(without_questions, removed=[question]))
                context.update_index_and_vectors(store)
            if is_right:
                return text
    return ""


def _with_question(memory: Memory, question: AnsweredQuestion) -> Memory:
    return memory.with_changes(questions=(*memory.questions, question))


def without_questions(memory: Memory, removed: Collection[AnsweredQuestion]) -> Memory:
    """Return a memory without these questions."""
    return memory.with_changes(questions=tuple([question for question in memory.questions if question not in removed]))
