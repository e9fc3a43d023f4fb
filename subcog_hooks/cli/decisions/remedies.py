"""Remedies for a decision: the words that prompt and memory share, and changes tried on a throw-away copy of the store."""

from __future__ import annotations

import operator
import os
import shlex
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import NamedTuple

import re2

from subcog_hooks.cli.support import context, trial_folders
from subcog_hooks.cli.support.amendment import amend, apply_changes
from subcog_hooks.core import database
from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.errors import InvalidMemory, StoreError
from subcog_hooks.core.paths import Home
from subcog_hooks.cues import triggers
from subcog_hooks.embed import spaces
from subcog_hooks.embed.by_language import encode_by_language, unit_vector
from subcog_hooks.embed.query_encoder import StaticEncoder
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.hook.dry_run import DryPrompt, decide_dry
from subcog_hooks.recall import asked_like, logit, query, tuning
from subcog_hooks.recall import search as recall_search
from subcog_hooks.recall import vectors as recall_vectors
from subcog_hooks.recall.candidates import Request, Sources
from subcog_hooks.recall.query import Term
from subcog_hooks.settings import loading
from subcog_hooks.settings.defaults import Settings
from subcog_hooks.store import index_sync
from subcog_hooks.store.decision import Candidate, Decision
from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.store.memory import LEARNED, MAX_QUESTION, MAX_QUESTIONS, AnsweredQuestion, Memory
from subcog_hooks.store.project import Project
from subcog_hooks.store.sessions import LastPrompt
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Filter
from subcog_hooks.store.vector_file import ExtensionMissing
from subcog_hooks.text import analysis, languages, prompt_needs
from subcog_hooks.text.analysis import Analysers
from subcog_hooks.text.typed_prompt import prepare_prompt, query_text
from subcog_hooks.text.vocabulary import STOP

COPY_TRIES = 5
MAX_BYTES = 400_000_000  # of store and index: about 200,000 memories, copied in one or two seconds
SEARCH_MS = 10_000.0  # No prompt waits for this search.
_DATABASE = ".db"
_PROCESS_FILES = ("-wal", "-shm", ".lock")  # files of the processes that have the store open


@dataclass(frozen=True, slots=True)
class Trial:
    """A copy of the home's store and index. home: the folder of the copy."""

    home: Home

    def change(self, id_: str, changes: Mapping[str, object]) -> None:
        """Change the fields of a memory in the copy and update its index. Raises SubcogError."""
        self.change_all([id_], changes)

    def find(self, texts: Sequence[str], scope: Filter, limit: int) -> list[list[Memory]]:
        """Return the hits of the hook's recall in the copy for each text, the best first. Raises StoreError."""
        if not texts:
            return []
        numbers = tuning.tuning_from_settings(context.settings())
        with Store.reader(self.home) as store:
            space = self._space(store)
            try:
                sources = Sources(LexicalIndex.open(self.home), store, space, numbers)
                requests = [Request(text, scope) for text in texts]
                answers = [recall_search.search_page(request, sources, Deadline(SEARCH_MS), limit) for request in requests]
            finally:
                if space:
                    space.vectors.close()
        return [[hit.memory for hit in answer.hits] for answer in answers]

    def _space(self, store: Store) -> recall_vectors.SearchSpace | None:
        try:
            vectors = spaces.open_vectors(self.home, store, PACKAGED)
        except ExtensionMissing:
            return None
        return recall_vectors.SearchSpace(vectors, encode_by_language(StaticEncoder.open().encode))

    def change_all(self, ids: Iterable[str], changes: Mapping[str, object]) -> None:
        """Change the fields of memories in the copy and update its index. Raises SubcogError."""
        with Store.writer(self.home) as store:
            for id_ in ids:
                amend(store.get(id_), lambda stored: apply_changes(stored, changes), store, [])
            index_sync.bring_up_to_date(self.home, store)
            with suppress(ExtensionMissing):  # As in the hook, words alone decide then.
                spaces.open_vectors(self.home, store, PACKAGED).close()


@contextmanager
def open_trial() -> Iterator[Trial]:
    """Copy the store for a trial, and remove the copy at the end. Raises StoreError, OSError."""
    home = context.home()
    if _size(home) > MAX_BYTES:
        raise StoreError(f"a store of more than {MAX_BYTES // 1_000_000} MB is not copied for a trial")
    with trial_folders.hold_folder(home) as folder:
        copy = Home(folder)
        database.copy_database(home.memories_db, copy.memories_db)
        for tries_left in reversed(range(COPY_TRIES)):
            try:
                _copy_index(home, copy)
                break
            except FileNotFoundError as error:  # Another process merges the index, or a purge has ended the trial.
                if not tries_left or not os.path.isdir(folder):
                    raise StoreError("another process is rewriting the index", "try again in a moment") from error
                shutil.rmtree(copy.index, ignore_errors=True)
        yield Trial(copy)


def _copy_index(home: Home, copy: Home) -> None:
    for parent, _, files in os.walk(home.index):
        target = os.path.normpath(os.path.join(copy.index, os.path.relpath(parent, home.index)))
        os.mkdir(target)  # Not `makedirs`: a missing parent means that a purge has ended the trial.
        for name in files:
            if name.endswith(_DATABASE):
                database.copy_database(os.path.join(parent, name), os.path.join(target, name))
            elif not name.endswith(_PROCESS_FILES):
                shutil.copyfile(os.path.join(parent, name), os.path.join(target, name))


def _size(home: Home) -> int:
    files = [home.memories_db, *(os.path.join(parent, name) for parent, _, names in os.walk(home.index) for name in names)]
    return sum(os.path.getsize(file) for file in files if os.path.isfile(file))


BUDGET_MS = 10_000.0  # No prompt waits for this run.
MIN_KEYWORD = 3  # letters of a keyword
KEYWORD_COUNTS = (1, 2, 4)  # numbers of missing words that are tried together


class Words(NamedTuple):
    """The significant words of a prompt that a memory has and lacks, the rarest first.

    asked_like: the memory's question that the prompt resembles, None for none.
    """

    has: list[str]
    lacks: list[str]
    asked_like: str | None = None


class Remedy(NamedTuple):
    """A command that makes a memory come to a prompt. relevance: the memory's relevance afterwards."""

    command: str
    relevance: float


class LearnedQuestion(NamedTuple):
    """A question that makes a memory come to a prompt. relevance: the memory's relevance with it."""

    question: str
    relevance: float


class Rerun:
    """An earlier prompt, with the project, settings and session to decide it again."""

    def __init__(self, decision: Decision, given: set[str], position: int, state: State) -> None:
        """given: ids handed over to the session before; position: of the prompt in the session; state: only read."""
        confidence = decision.intent.confidence if decision.intent else 0.0
        earlier = LastPrompt(decision.borrowed, confidence) if decision.borrowed else None
        self.asked = DryPrompt(decision.prompt or "", decision.session, given if decision.session else set(), earlier, position)
        self.here = _find_project(decision.project)
        self.settings: Settings = loading.load(context.home(), self.here.root if self.here and self.here.root else None)
        self.state = state

    def decide(self, home: Home) -> Decision:
        """Return the hook's decision with the memories of this home. Raises StoreError."""
        return decide_dry(self.asked, home, self.here, self.settings, self.state, Deadline(BUDGET_MS))


def _find_project(identity: str) -> Project | None:
    here = context.here()
    if here is not None and here.identity == identity:
        return here
    return Project(identity, "", identity) if identity else None


def compare_words(decision: Decision, memory: Memory, index: LexicalIndex) -> Words:
    """Return the words of a decision's prompt that a memory has and lacks today."""
    comparison = compare_terms(decision, memory, index)
    lacks = [term.whole for term in comparison.lacking]
    return Words(comparison.words, lacks, _matching_question(decision, memory, index))


def _matching_question(decision: Decision, memory: Memory, index: LexicalIndex) -> str | None:
    candidate = candidate_of(decision, memory.id)
    added = {name: adds for name, _, adds in candidate.terms} if candidate else {}
    if not memory.questions or added.get(logit.ASKED_LIKE, 0.0) <= 0.0:
        return None
    text = query_text(decision.prompt or "")
    with closing(StaticEncoder.open()) as encoder:
        encode = encode_by_language(encoder.encode)
        asked, *theirs = [unit_vector(encode(part)) for part in (text, *(question.text for question in memory.questions))]
    likeness = {number: sum(map(operator.mul, asked, vector)) for number, vector in enumerate(theirs)}
    return asked_like.most_alike_question(text, memory.questions, likeness, index.analysers).question


def find_remedies(rerun: Rerun, decision: Decision, memory: Memory, index: LexicalIndex) -> list[Remedy]:
    """Return the commands that make a memory come to the prompt: at most one each by question, keywords and trigger.

    Raises SubcogError, OSError.
    """
    comparison = compare_terms(decision, memory, index)
    remedies: list[Remedy] = []
    with open_trial() as copy:
        if learned := find_question(copy, rerun, decision, memory):
            remedies.append(Remedy(f"subcog why --missed {memory.id} {decision.id}", learned.relevance))
        for option, field, ideas in (
            ("--keyword", "keywords", list(_keywords(memory, comparison.lacking))),
            ("--trigger", "triggers", list(_triggers(memory, decision.prompt or "", comparison.shared))),
        ):
            copy.change(memory.id, {"questions": memory.questions})
            for values in ideas:
                relevance = _relevance_with(copy, rerun, memory, {field: values})
                if relevance is not None:
                    given = " ".join(f"{option} {shlex.quote(value)}" for value in values)
                    remedies.append(Remedy(f"subcog edit {memory.id} {given}", relevance))
                    break
            copy.change(memory.id, {field: getattr(memory, field)})
    return remedies


def find_question(copy: Trial, rerun: Rerun, decision: Decision, memory: Memory) -> LearnedQuestion | None:
    """Return the first question from a prompt's needs that makes a memory come to it.

    None where no question helps, or the memory has its maximum. The copy keeps the question. Raises SubcogError.
    """
    if len(memory.questions) >= MAX_QUESTIONS:
        return None
    for text in needs_of(decision):
        relevance = _relevance_with(copy, rerun, memory, {"questions": (*memory.questions, AnsweredQuestion(text, LEARNED))})
        if relevance is not None:
            return LearnedQuestion(text, relevance)
    return None


def needs_of(decision: Decision) -> list[str]:
    """Return the texts of a decision's prompt that can serve as a question, the likeliest first.

    The order is: a follow-up prompt with its borrowed topics, questions, the typed text, other sentences, the failure line.
    """
    prepared = prepare_prompt(decision.prompt or "")
    typed = query_text(decision.prompt or "", prepared)
    parts = prompt_needs.separate_needs(typed)
    borrowed = [" ".join((typed, *decision.borrowed))] if decision.borrowed else []
    texts = [*borrowed, *filter(prompt_needs.is_question, parts), typed, *parts, prepared.failure]
    return list(dict.fromkeys(_shorten(" ".join(text.split())) for text in texts if text.strip()))


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_QUESTION else text[: MAX_QUESTION + 1].rpartition(" ")[0] or text[:MAX_QUESTION]


def _relevance_with(copy: Trial, rerun: Rerun, memory: Memory, changes: Mapping[str, object]) -> float | None:
    """Return the memory's relevance for the prompt after these changes; None where it does not come."""
    try:
        copy.change(memory.id, changes)
    except InvalidMemory:
        return None
    decision = rerun.decide(copy.home)
    candidate = candidate_of(decision, memory.id)
    return candidate.relevance if candidate and memory.id in decision.injected else None


def candidate_of(decision: Decision, id_: str) -> Candidate | None:
    """Return a memory's candidate in a decision, None where it was not considered."""
    return next((candidate for candidate in decision.candidates if candidate.id == id_), None)


def _keywords(memory: Memory, lacks: Sequence[Term]) -> Iterator[tuple[str, ...]]:
    """Yield keywords to try: the memory's keywords, which `edit` replaces, and its rarest missing words."""
    words = [term.whole for term in lacks if len(term.whole) >= MIN_KEYWORD and _has_letters(term.whole)]
    for number in KEYWORD_COUNTS:
        if len(words) >= number:
            yield (*memory.keywords, *words[:number])


def _has_letters(word: str) -> bool:
    return any(map(str.isalpha, word))


def _triggers(memory: Memory, prompt: str, shared: Sequence[tuple[Term, tuple[str, ...]]]) -> Iterator[tuple[str, ...]]:
    """Yield triggers to try: an identifier of prompt and memory, or two words of both in the order of the prompt.

    One English word would match prompts on any subject.
    """
    plain = triggers.plain_text(prompt).lower()
    common = {word: term for term, words in shared if (word := _common_beginning(term.whole, words)) and word in plain}
    if identifier := next((word for word, term in common.items() if term.is_identifier and word == term.whole), None):
        yield (*memory.triggers, f"\\b{re2.escape(identifier)}")
    if len(common) > 1:
        first, second = sorted([*common][:2], key=plain.index)
        yield (*memory.triggers, f"\\b{re2.escape(first)}.*\\b{re2.escape(second)}")


def _common_beginning(asked: str, words: Sequence[str]) -> str:
    """Return the shorter of a prompt's word and the memory's word for it where the longer begins with it, else "".

    >>> _common_beginning("tests", ["Test"]), _common_beginning("needed", ["needs"])
    ('test', '')
    """
    shorter, longer = sorted((asked, words[0].lower()), key=len)
    is_usable = len(words) == 1 and len(shorter) >= MIN_KEYWORD and _has_letters(shorter)
    return shorter if is_usable and longer.startswith(shorter) else ""


class Comparison(NamedTuple):
    """The terms of a prompt that a memory has and lacks, the rarest first.

    shared: each with the memory's own words for it. A memory with only parts of an identifier has the parts and lacks the
    identifier.
    """

    shared: list[tuple[Term, tuple[str, ...]]]
    lacking: list[Term]

    @property
    def words(self) -> list[str]:
        """The memory's own words for the prompt's terms."""
        return list(dict.fromkeys(word for _, words in self.shared for word in words))


def compare_terms(decision: Decision, memory: Memory, index: LexicalIndex) -> Comparison:
    """Return the terms of a decision's prompt that a memory has and lacks today."""
    text = "\n".join((query_text(decision.prompt or ""), *decision.borrowed))
    terms = sorted(query.analyse_query(text, index).terms, key=lambda term: (-term.weight, term.whole))
    own = _OwnWords(memory, index.analysers)
    shared = [(term, words) for term in terms if (words := own.words_for(term))]
    whole = {term.whole for term, _ in shared if not term.is_identifier or own.has_whole(term)}
    asked = _fold_letters(text, index.analysers)  # The analysis adds acronyms that nobody typed.
    return Comparison(shared, [term for term in terms if term.whole not in whole and term.whole in asked])


def _fold_letters(text: str, analysers: Analysers) -> str:
    """Return the words of a text in plain small letters, behind the text: the words leave long runs without blanks out."""
    folded = analysis.fold(text).lower()
    return " ".join((folded, *analysers.exact.analyze(folded)))


class _OwnWords:
    """The words of a memory by their forms in the index. A number within a version, date or name is no word of its own."""

    def __init__(self, memory: Memory, analysers: Analysers) -> None:
        text = "\n".join((memory.content, *memory.tags, *memory.keywords))
        language = languages.language_of(text)
        self._folded = _fold_letters(text, analysers)
        self._by_whole: dict[str, str] = {}
        self._by_stem: dict[str, str] = {}
        for word in dict.fromkeys(analysis.whole_tokens(analysis.separate_scripts(text))):
            for whole in analysers.exact_terms(word):
                self._by_whole.setdefault(whole, word)
            for stem in analysers.body_terms(word):
                if not stem.isdecimal() or stem == word:
                    self._by_stem.setdefault(stem, word)
        if language:
            from subcog_hooks.text import inflection  # Most texts are English.

            for word, base in inflection.stems_by_word(text, language).items():
                for stem in analysers.body.analyze(base):
                    self._by_stem.setdefault(stem, self._by_whole.get(word, word))

    def has_whole(self, term: Term) -> bool:
        return term.whole in self._by_whole

    def words_for(self, term: Term) -> tuple[str, ...]:
        """Return the memory's words that match a term, at least in part; an acronym also by its long form."""
        if term.is_cjk:
            return (term.whole,) * (term.whole in self._folded)
        if term.whole in self._by_whole:
            return (self._by_whole[term.whole],)
        if term.is_identifier:
            parts = [stem for stem in term.stems if not (stem.isdecimal() or stem in STOP)]
            return tuple([self._by_stem[stem] for stem in parts if stem in self._by_stem])
        if term.stems[0] in self._by_stem:
            return (self._by_stem[term.stems[0]],)
        if term.spelled_out and self._by_stem.keys() >= set(term.spelled_out):
            return tuple([self._by_stem[stem] for stem in term.spelled_out])
        return ()
