"""The options of a search, and its sources: store, index and vectors, and the encoder of the query.

The options are one table, used by typer on a terminal and by `parse_command_line` in a script: typer and rich take longer to
load than a search takes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import NamedTuple

from subcog_hooks.cli import results
from subcog_hooks.cli.results import confidence_of
from subcog_hooks.cli.terminal import context, inputs
from subcog_hooks.cli.terminal.output import count_memories, terminal
from subcog_hooks.core import records
from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.errors import EXIT_NOTHING_FOUND, ModelError, StoreError
from subcog_hooks.core.files import read_rows
from subcog_hooks.embed import models
from subcog_hooks.embed.space import PACKAGED, Space
from subcog_hooks.embed.static_encoder import StaticEncoder, encode_by_language
from subcog_hooks.intent.query_type import classify_query
from subcog_hooks.recall import fusion
from subcog_hooks.recall import search as recall_search
from subcog_hooks.recall import vectors as recall_vectors
from subcog_hooks.recall.candidates import HYBRID, Request, Sources, gather_candidates
from subcog_hooks.recall.hits import LEXICAL, Answer
from subcog_hooks.settings.defaults import Settings
from subcog_hooks.store import index_writer
from subcog_hooks.store.index import IndexUnusable
from subcog_hooks.store.memory import STATUSES
from subcog_hooks.store.project import resolve_identity
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import audiences_of
from subcog_hooks.store.vector_reader import ExtensionMissing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.embed.static_encoder import Encode


COMMAND, QUIET, END = "search", "--quiet", "--"
SWITCH, SHAPE, STRING, LIST, NUMBER = "switch", "shape", "string", "list", "number"  # the kinds of options
ONLY_TERMINAL = "team"  # This option needs more than this table.
MAX_DIGITS = 7


class Option(NamedTuple):
    """One option: a row of search_options.tsv. name: with underscores, as in SearchOptions; letter: the short form; high: the
    largest number. "" stands for none.
    """

    name: str
    kind: str
    letter: str
    metavar: str
    default: str
    high: str
    help: str

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")


OPTIONS = tuple(
    Option._make((*cells, help_text.replace("STATUSES", ", ".join(STATUSES[1:-1]))))
    for *cells, help_text in read_rows(__file__, "search_options.tsv")
)
_BY_FLAG = {flag: option for option in OPTIONS if option.name != ONLY_TERMINAL for flag in (option.flag, option.letter) if flag}


class SearchOptions:
    """The values of the options by name. shape: the output format, TABLE or a format for programs."""

    query: Sequence[str] = ()
    shape = results.TABLE
    limit: int | None = None
    page = 1
    namespace: Sequence[str] = ()
    tag: Sequence[str] = ()
    path: Sequence[str] = ()
    project: str | None = None
    all_projects = False
    since: str | None = None
    status: Sequence[str] = ()
    mode = HYBRID
    fast = False
    progressive = False
    state: Sequence[str] = ()
    explain = False
    rank = False
    sessions = False
    batch: str | None = None


def parse_command_line(words: Sequence[str]) -> SearchOptions | None:
    """Parse a command line as typer would; return None where typer has to parse it.

    words: the command's name first. Typer parses every line that asks for a table on a terminal or has a fault.
    """
    if not words or words[0] != COMMAND:
        return None
    options = SearchOptions()
    query: list[str] = []
    remaining = list(words[:0:-1])  # The next word is the last element.
    while remaining:
        word = remaining.pop()
        if word == END:
            query += remaining[::-1]
            break
        if word == "-" or not word.startswith("-"):
            query.append(word)
            continue
        flag, has_value, value = word.partition("=") if word.startswith("--") else (word, "", "")
        option = _BY_FLAG.get(flag)
        if option is None:
            return None
        if option.kind not in (SWITCH, SHAPE) and not has_value:
            if not remaining:
                return None
            has_value, value = "=", remaining.pop()
        if not _set_value(options, option, value if has_value else None):
            return None
    options.query = query
    return options if options.batch or options.shape != results.TABLE else None


def _set_value(options: SearchOptions, option: Option, value: str | None) -> bool:
    if option.kind in (SWITCH, SHAPE):
        if value is not None or (option.kind == SHAPE and options.shape != results.TABLE):
            return False
        if option.kind == SHAPE:
            options.shape = option.name
        else:
            setattr(options, option.name, True)
    elif option.kind == STRING:
        setattr(options, option.name, value)
    elif option.kind == LIST:
        setattr(options, option.name, (*getattr(options, option.name), value))
    else:
        if not value or not value.isdecimal() or len(value) > MAX_DIGITS or not 1 <= int(value) <= int(option.high):
            return False
        setattr(options, option.name, int(value))
    return True


PENDING = "some vectors are pending, so confidence rests on words alone"
LOADING_SHARE = 0.8  # of a search's time for loading a model; the rest is for a search without it


@records.record
class ModelLoading:
    """The time for loading a neural model. max_ms: limit; taken_ms: time used so far."""

    max_ms: float
    taken_ms: float = 0.0


@contextmanager
def open_sources(
    store: Store, settings: Settings, mode: str = HYBRID, *, fast: bool, loading: ModelLoading | None = None
) -> Iterator[Sources]:
    """Yield the sources of a search, brought up to date.

    fast: embed the query as the hook does, with the static encoder. Otherwise a neural model embeds it; `loading` limits the
    wait. The user's model is tried first, then the packaged model, then the static encoder. The answer notes a missing model.
    """
    index = context.index_of(store)
    numbers = fusion.tuning_from_settings(settings)
    if mode == LEXICAL or (mode == HYBRID and numbers.alpha == 0.0):  # Vectors with no weight need no model.
        yield Sources(index, store, None, numbers)
        return
    space, note = _open_space(store, settings, fast=fast, loading=loading)
    if space is None:
        yield Sources(index, store, None, numbers, note)
        return
    with space.vectors:
        yield Sources(index, store, space, numbers, note)


def _open_space(
    store: Store, settings: Settings, *, fast: bool, loading: ModelLoading | None
) -> tuple[recall_vectors.SearchSpace | None, str | None]:
    missed: list[str] = []
    openers: list[Callable[[], recall_vectors.SearchSpace]] = []
    if not fast:
        try:
            chosen = models.find_space(context.home(), str(settings[models.SETTING]))
        except ModelError as error:
            missed.append(error.message)
            chosen = PACKAGED
        openers = [partial(_open_neural, store, candidate, loading) for candidate in dict.fromkeys((chosen, PACKAGED))]
    openers.append(partial(_open_static, store))
    for open_space in openers:
        try:
            space = open_space()
            if not missed and space.vectors.watermark() < store.revision():
                missed.append("the newest memories have no vectors yet, and are found by words alone")
            return space, missed[0] if missed else None
        except ExtensionMissing as error:  # no other model can do without it
            return None, error.message
        except (StoreError, ModelError) as error:
            missed.append(error.message)
    return None, f"found by words alone: {missed[-1]}"


def _open_neural(store: Store, space: Space, loading: ModelLoading | None) -> recall_vectors.SearchSpace:
    """Return a space that embeds the query by its neural model, loaded last.

    Raises StoreError and ModelError, for the user's model also while some memories are not embedded in it.
    """
    if lacking := models.missing_files(space):
        raise ModelError(f"the model {space.model} lacks {lacking[0]}", space.remedy)
    vectors = context.vectors_of(store, space)
    try:
        final, pending = vectors.counts()
        if pending and not space.is_packaged:  # In the packaged space the other memories have provisional vectors.
            memories = count_memories(final + pending)
            raise ModelError(f"not embedded with {space.name} yet: {pending} of {memories}")
        encode = _load_query_encoder(space) if loading is None else _load_in_time(space, loading)
        return recall_vectors.SearchSpace(vectors, encode_by_language(encode) if space.is_packaged else encode)
    except BaseException:
        vectors.close()
        raise


def _load_in_time(space: Space, loading: ModelLoading) -> Encode:
    """Return the function that embeds a query. Raises ModelError also where loading exceeds its time.

    Loading then goes on in a thread, and the process must not wait for it.
    """
    from threading import Thread  # the model's libraries load it anyway

    loaded: list[Encode] = []
    failed: list[Exception] = []

    def load() -> None:
        try:
            loaded.append(_load_query_encoder(space))
        except Exception as error:  # noqa: BLE001 - the waiting thread raises it
            failed.append(error)

    started = time.perf_counter()
    terminal.has_left_work = True  # until loading is over, so Ctrl-C can end the process
    thread = Thread(target=load, daemon=True)
    thread.start()
    thread.join(max(0.0, loading.max_ms - loading.taken_ms) / 1000.0)
    loading.taken_ms += (time.perf_counter() - started) * 1000.0
    if thread.is_alive():
        raise ModelError(f"the model {space.model} took too long to load; `search.timeout_ms` gives it more time")
    terminal.has_left_work = False
    if failed:
        raise failed[0]
    return loaded[0]


def _load_query_encoder(space: Space) -> Encode:
    from subcog_hooks.embed.neural_encoder import DocumentEmbedder  # 200 ms with its libraries

    try:
        encode = DocumentEmbedder(space).query
    except ModelError as error:
        raise ModelError(f"the model {space.model} cannot be loaded (`subcog doctor` says why)") from error
    return models.encode_between(encode, StaticEncoder.open().encode) if space.is_packaged else encode


def _open_static(store: Store) -> recall_vectors.SearchSpace:
    encoder = StaticEncoder.open()
    return recall_vectors.SearchSpace(context.vectors_of(store, PACKAGED), encode_by_language(encoder.encode))


def run_batch(
    source: str,
    template: Request,
    store: Store | None,
    settings: Settings,
    limit: int,
    fields_of: Callable[[Answer], dict[str, object]],
    *,
    fast: bool,
) -> int:
    """Answer each query of a JSONL source, and return the exit code.

    template: the request that each query shares, except text and project; fields_of: an answer as a line has it.
    """
    has_found = False
    revision = -1
    sources: Sources | None = None

    def answer_query(text: str, owner: str | None) -> dict[str, object]:
        nonlocal has_found, revision, sources
        scope = records.replace(template.scope, audiences=audiences_of(resolve_identity(owner)) if owner else None)
        request = records.replace(template, text=text, scope=scope)
        answer = Answer([], (), query_type=classify_query(text))
        if store:
            if sources is None or store.revision() != revision:  # The store has changed since the last query.
                opened.close()
                revision = store.revision()
                sources = opened.enter_context(open_sources(store, settings, template.mode, fast=fast))
            answer = search_sources(request, sources, Deadline(float(settings["search.timeout_ms"])), limit)
        has_found = has_found or bool(answer.hits)
        return fields_of(answer)

    with ExitStack() as opened:
        inputs.answer_lines(source, "query", answer_query, optional="project")
    return 0 if has_found else EXIT_NOTHING_FOUND


def answer_page(store: Store, settings: Settings, limit: int, offset: int, request: Request, *, fast: bool) -> Answer:
    """Return a page of hits. fast: without the neural model; the time to load it counts. Raises StoreError."""
    max_ms = float(settings["search.timeout_ms"])
    loading = ModelLoading(LOADING_SHARE * max_ms)
    with open_sources(store, settings, request.mode, fast=fast, loading=loading) as recall_sources:
        return search_sources(request, recall_sources, Deadline(max_ms - loading.taken_ms), limit, offset)


def search_sources(request: Request, recall_sources: Sources, deadline: Deadline, limit: int, offset: int = 0) -> Answer:
    """Return a page of hits, after a rebuild where the index turns out to be damaged. Raises StoreError."""
    try:
        answer = recall_search.search_memories(request, recall_sources, deadline, limit, offset)
    except IndexUnusable:
        home = recall_sources.store.home
        with Store.reader(home) as store:
            recall_sources.index = index_writer.rebuild_index(home, store)
        answer = recall_search.search_memories(request, recall_sources, deadline, limit, offset)
    if recall_sources.space and recall_sources.space.vectors.has_pending(request.scope.audiences, request.scope.statuses):
        candidates = gather_candidates(records.replace(request, mode=LEXICAL), recall_sources, deadline)
        memories = [hit.memory for hit in answer.hits]
        candidates.leave_out_copies(memories)
        by_words = Answer([candidates.hit(memory) for memory in memories], candidates.strategies, is_degraded=True)
        answer.labels_by_words = {hit.memory.id: confidence_of(by_words, hit) for hit in by_words.hits}
        if not answer.is_degraded:
            _degrade(answer, PENDING)
    if recall_sources.index.watermark < recall_sources.store.revision():
        _degrade(answer, "the index is being written by another process; the newest memories may be missing")
    return answer


def _degrade(answer: Answer, note: str) -> None:
    answer.note = "; ".join(filter(None, (answer.note, note)))
    answer.is_degraded = True
