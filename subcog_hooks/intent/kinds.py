"""The seven types of request that a prompt can make, and the `Intent`: all that is known about one prompt."""

HOWTO = "howto"
LOCATION = "location"
EXPLANATION = "explanation"
COMPARISON = "comparison"
TROUBLESHOOT = "troubleshoot"
GENERAL = "general"
NONE = "none"

TYPES = (COMPARISON, TROUBLESHOOT, LOCATION, HOWTO, EXPLANATION, GENERAL, NONE)  # in the order in which ties are decided

KEYWORD, LLM, HYBRID = "keyword", "llm", "hybrid"  # who has said it

# what became of the LLM, where no call has ended (llm.call says how those end)
OFF = "off"  # none is configured, or use_llm is false
SKIPPED = "skipped"  # the words were sure, or it may not be shown the prompt, or no time was left
CACHED = "cached"  # it had answered this prompt before
RESTING = "resting"  # it failed too often lately

SEEKING = "seeking"  # no type, but a family of signals: the prompt asks for what is remembered

MAX_CONFIDENCE = 0.95  # of a merged intent
MAX_TOPICS = 5  # of a prompt


class Intent:
    """The kind of request that a prompt makes, and all that is known of it.

    type: one of TYPES. confidence: how probable it is that memories could help with the prompt, 0.0 to 0.95, whatever the type;
    a prompt of type `none` may have .4. topics: at most five words or short terms that a search should use, the most telling
    first. keywords: what of the prompt speaks for its type. source: keyword, llm or hybrid. llm_status: what became of the LLM.
    """

    __slots__ = ("confidence", "keywords", "llm_status", "source", "topics", "type")

    def __init__(
        self,
        type: str,
        confidence: float,
        topics: tuple[str, ...] = (),
        keywords: tuple[str, ...] = (),
        *,
        source: str = KEYWORD,
        llm_status: str = OFF,
    ) -> None:
        self.type = type
        self.confidence = confidence
        self.topics = topics
        self.keywords = keywords
        self.source = source
        self.llm_status = llm_status
