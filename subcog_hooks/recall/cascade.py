"""Never nothing without a word: looser and looser matching while a search finds nothing, then what to try (S1 section 6).

For people alone. A prompt that nothing answers is answered by silence.
"""

from subcog_hooks.memory.model import now_ms
from subcog_hooks.memory.store import audience_of, audiences_of
from subcog_hooks.recall import exact, lexical, pipeline, suggestions
from subcog_hooks.recall.candidates import HYBRID, Net, Request, Sources
from subcog_hooks.recall.eligibility import Eligibility
from subcog_hooks.recall.hits import LOW, PATTERN, SPECULATIVE, Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.deadline import Deadline

PRIMARY_SHARE = 0.5  # of the time: S1's 150 of 300 ms
STAGES = (  # (label, net, share of the time that is left then: S1's 100 of 150 ms, and the rest; what is said)
    (LOW, Net(0.7, lexical.Beginnings), 2.0 / 3.0, "nothing matches as it stands; these come near"),
    (SPECULATIVE, Net(0.5, lexical.Pieces), 1.0, "nothing matches; these share pieces of words, or a distant meaning"),
)


def search(request: Request, sources: Sources, deadline: "Deadline", limit: int, offset: int = 0) -> Answer:
    """As pipeline.search; what it finds is widened stage by stage until something is found, and labelled so.

    Raises IndexUnusable, StoreError.
    """
    request = _with_patterns(request, sources, deadline)
    answer = pipeline.search(request, sources, deadline.share(PRIMARY_SHARE), limit, offset)
    notes = [answer.note]
    for label, net, share, note in STAGES:
        if answer.is_degraded and not deadline.work_left_ms():
            break
        if answer.hits or (offset and _finds(request, sources, deadline)):  # a page behind the last is empty, whatever is there
            break
        request = request.wider(net)
        wider = pipeline.search(request, sources, deadline.share(share), limit, offset)
        wider.stage = label
        wider.is_degraded = wider.is_degraded or answer.is_degraded
        notes += [note if wider.hits else None, wider.note]
        answer = wider
    else:
        answer.suggestions = suggestions.near(request, sources.index)
    answer.note = "; ".join(dict.fromkeys(filter(None, notes))) or None
    return answer


def _with_patterns(request: Request, sources: Sources, deadline: "Deadline") -> Request:
    """The request with what the triggers of its scope bring: a person may ask in the words of a prompt. Raises StoreError."""
    if request.mode != HYBRID or not sources.store.has_cues()[0]:
        return request
    audiences = request.scope.audiences
    if audiences is None:
        audiences = (*audiences_of(), *(audience_of("project", name) for name in sources.store.projects()))
    found, _ = exact.by_patterns(request.text, sources.store, Eligibility(audiences, now_ms()), deadline)
    return request.with_further(exact.Exact({PATTERN: found}).lists())


def _finds(request: Request, sources: Sources, deadline: "Deadline") -> bool:
    return bool(pipeline.search(request, sources, deadline, 1).hits)
