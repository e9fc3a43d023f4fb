"""The seven types of request that a prompt can make, and the `Intent` of one prompt."""

from subcog_hooks.core.records import record

HOWTO = "howto"
LOCATION = "location"
EXPLANATION = "explanation"
COMPARISON = "comparison"
TROUBLESHOOT = "troubleshoot"
GENERAL = "general"
NONE = "none"

TYPES = (COMPARISON, TROUBLESHOOT, LOCATION, HOWTO, EXPLANATION, GENERAL, NONE)  # in the order for breaking ties

KEYWORD, LLM, HYBRID = "keyword", "llm", "hybrid"  # sources of an intent

# The status of the LLM without a finished call (llm.race has the status of a finished call).
OFF = "off"  # no LLM is configured, or use_llm is false
SKIPPED = "skipped"  # the words were sure, the prompt may not be disclosed, or no time was left
CACHED = "cached"  # it answered this prompt before
RESTING = "resting"  # it failed too often lately

SEEKING = "seeking"  # no type, but a family of signals: the prompt asks for a memory

MAX_CONFIDENCE = 0.95  # of a merged intent
MAX_TOPICS = 5  # of a prompt


@record
class Intent:
    """The kind of request that a prompt makes, with its confidence and topics.

    type: one of TYPES. confidence: the probability that memories could help with the prompt, 0.0 to 0.95, independent of the
    type; a prompt of type `none` may have .4. topics: at most five search terms, the most telling first. keywords: words of the
    prompt that support its type. source: keyword, llm or hybrid. llm_status: of the LLM.
    """

    type: str
    confidence: float
    topics: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    source: str = KEYWORD
    llm_status: str = OFF
