"""All settings with their types, ranges and help texts, for the terminal and for checking a file or a variable."""

from subcog_hooks.settings import defaults
from subcog_hooks.settings.key_types import (
    AddressKey,
    AlphaKey,
    ChoiceKey,
    Key,
    ListKey,
    NameKey,
    NumberKey,
    PathKey,
    RolesKey,
    ServerKey,
    SwitchKey,
    WordsKey,
)

_QUERIES = {  # the query of each type, in words
    "exact_quote": "a phrase in quotes",
    "entity": "a name",
    "conceptual": "a question about how and why",
    "factual": "a question about one fact",
    "exploratory": "a subject",
}

_ALL: tuple[Key, ...] = (  # in the order of `config list`
    SwitchKey("surfacing.enabled", "Whether hooks give memories to the agent at all"),
    SwitchKey("surfacing.tools", "Whether memories are given when a tool is about to touch a file or run a command"),
    SwitchKey("surfacing.session_start", "Whether memories are given when a session begins"),
    NumberKey(
        "surfacing.brief_characters",
        0,
        6000,
        "The most characters (UTF-16 units) of memories in the brief that a session begins with; 0 for no brief",
    ),
    NumberKey("surfacing.min_relevance", 0.0, 1.0, "How relevant a memory must be to be given to the agent (a probability)"),
    NumberKey(
        "surfacing.maybe_relevance",
        0.0,
        1.0,
        "How relevant a memory must be for a line that points the agent at it (a probability); 0 for no lines",
    ),
    NumberKey("surfacing.max_memories", 1, 6, "The most memories that one prompt is given"),
    NumberKey("surfacing.max_characters", 200, 9900, "The most characters (UTF-16 units) that one prompt is given"),
    NumberKey(
        "surfacing.session_characters",
        500,
        1_000_000,
        "The most characters (UTF-16 units) that a session is given, brief, prompts and tools together",
    ),
    SwitchKey(
        "surfacing.log_prompts",
        "Whether prompts are kept for `why`, `replay` and follow-up questions; false also deletes the kept ones",
        is_personal=True,
    ),
    SwitchKey(
        defaults.LEARN,
        "Whether a memory learns questions from prompts at which a second look brought it: when that was of use "
        "twice, or you say yes in `subcog review`. They go with the prompt's record; false takes them away",
        is_personal=True,
    ),
    ChoiceKey(
        "fusion.preset",
        tuple(defaults.PRESETS),
        "A ready-made choice of fusion.mode and fusion.alpha; either of them wins where it is set",
    ),
    ChoiceKey(
        "fusion.mode",
        (defaults.WEIGHTED, defaults.RRF),
        "How results by words and by meaning are joined: by their scores, or by their ranks (rrf)",
    ),
    AlphaKey("fusion.alpha", 0.0, 1.0, "How much meaning counts beside words: 0 is words alone, 1 is meaning alone"),
    NumberKey(
        "fusion.small",
        0,
        10_000_000,
        "fusion.alpha = adaptive: a store with fewer memories than this counts as small (alpha .5); with fewer than a"
        " tenth of it a memory needs more relevance to be told",
    ),
    NumberKey(
        "fusion.large",
        0,
        10_000_000,
        "fusion.alpha = adaptive: a store with this many memories counts as large (alpha .8; between the two .7)",
    ),
    NumberKey(
        "fusion.rrf_k", 1, 1000, "fusion.mode = rrf: the constant added to every rank; a larger one makes top ranks count less"
    ),
    NumberKey(
        "fusion.tags", 0.0, 1.0, "Bonus for a memory whose tag the query names; half as much again for three tags or more"
    ),
    *(
        NumberKey(f"fusion.{kind}", 0.0, 1.0, f"fusion.alpha = adaptive: the share of meaning that {query} asks for")
        for kind, query in _QUERIES.items()
    ),
    NumberKey("fusion.pattern", 0.1, 5.0, "How much a trigger that matches counts in the order, times the usual"),
    NumberKey("fusion.state", 0.1, 5.0, "How much conditions that hold count in the order, times the usual"),
    NumberKey("recency.decay", 0.0, 1.0, "How fast a memory's score falls with its age (share a day); 0 ignores age"),
    NumberKey("recency.floor", 0.0, 1.0, "The share of its score that even the oldest memory keeps"),
    NumberKey(
        "search.timeout_ms",
        1,
        600_000,
        "How many milliseconds `subcog search` may look and load its model; then it answers with what it has",
    ),
    NumberKey(
        "search.min_similarity", 0.0, 1.0, "How similar in meaning (cosine) a memory must be to be found without a common word"
    ),
    NumberKey(
        "diversity.mmr",
        0.0,
        1.0,
        "Balance of relevance and variety in the results: 1 is relevance alone, lower values favour variety",
    ),
    NumberKey("search.limit", 1, 1000, "How many results `subcog search` shows"),
    SwitchKey("search_intent.enabled", "Whether the hook finds out what a prompt asks for; false gives prompts no memories"),
    SwitchKey("search_intent.use_llm", "Whether a configured LLM may be asked what a prompt asks for", is_personal=True),
    NumberKey("search_intent.llm_timeout_ms", 1, 10_000, "How many milliseconds the LLM may take; the hook waits 200 in all"),
    NumberKey(
        "search_intent.min_confidence",
        0.0,
        1.0,
        "How sure it must be that memories can help with a prompt; below it only a very relevant memory is given",
    ),
    NumberKey(
        "search_intent.llm_skip_confidence", 0.0, 1.0, "The LLM is not asked about a prompt whose words alone are this clear"
    ),
    ChoiceKey(
        defaults.SECOND_LOOK,
        (defaults.NEVER, defaults.UNSURE, defaults.ALWAYS),
        "Whether a prompt that got no memory is looked at again in the background, with the model itself: auto where "
        "one came near, always wherever memories could help",
        is_personal=True,
    ),
    ChoiceKey(
        "capture.typed",
        (defaults.NO_NOTES, defaults.BY_REMEMBER, defaults.BY_HASH),
        "Which prompts are stored instead of sent: those that begin with `remember:`, with hash a line behind `# ` as well",
        is_personal=True,
    ),
    ChoiceKey(
        "capture.agent",
        (defaults.AGENTS_NOTES, defaults.WAITING_NOTES, defaults.NO_NOTES),
        "Whether an agent may store memories; with pending all of them wait for `subcog review`, with on only those "
        "of a session that runs without questions",
        is_personal=True,
    ),
    SwitchKey(
        defaults.NOTES_SETTING,
        "Whether the notes that Claude Code itself writes, CLAUDE.md files and rules are taken over, and looked at "
        "again when a session begins",
        is_personal=True,
    ),
    ChoiceKey(
        defaults.SESSIONS_SETTING,
        (defaults.NOT_LEARNED, defaults.COUNTED_AT_REST, defaults.LEARNED_AT_REST),
        "Whether what you typed in sessions is looked at for memories when another session begins, in the background:"
        " off leaves it to `subcog learn`, ask says how much there is to propose, on lets it wait for `subcog review`",
        is_personal=True,
    ),
    ListKey(
        "capture.sessions_except",
        "projects as `subcog list` has them, whole paths of folders or their ends, with commas between them",
        "Projects and folders in whose sessions `subcog learn` leaves out what you typed",
    ),
    WordsKey(
        "capture.sessions_never",
        ("correction", "preference", "decision", "fact", "procedure", "pitfall", "command"),
        "Kinds of what sessions hold that `subcog learn` never proposes; command: one that failed, and how it worked then",
    ),
    NameKey(
        "capture.keep_from",
        "names as `subcog import --from` has them, with commas between them",
        "Sources of `subcog import --from` whose notes by machines are kept without a question, but for a repository's",
    ),
    NameKey(
        "capture.drop_from",
        "names as `subcog import --from` has them, with commas between them",
        "Sources of `subcog import --from` whose notes by machines are left out without a question",
    ),
    SwitchKey(
        "capture.remind",
        "Whether a session that begins tells you, once a day, how many memories wait for `subcog review`",
        is_personal=True,
    ),
    ChoiceKey(
        "llm.provider",
        (defaults.NO_LLM, defaults.ANTHROPIC, defaults.OPENAI),
        "The LLM service that is asked what a prompt asks for; openai is any server with an OpenAI-compatible API",
        is_personal=True,
    ),
    NameKey("llm.model", "the name that the provider has for it", "The LLM to ask; without one, the provider's default"),
    AddressKey(
        "llm.base_url",
        "an address such as http://localhost:11434/v1",
        "The address of the LLM server; without one, the provider's own",
    ),
    PathKey(
        "llm.key_file",
        "that of a file, such as ~/.keys/llm",
        "A file with the API key, readable by you alone (mode 0600); without one, ANTHROPIC_API_KEY or OPENAI_API_KEY"
        " is used, and only for the provider's own address",
    ),
    ChoiceKey(
        defaults.AT_REST,
        (defaults.NO_LLM, defaults.CLAUDE, defaults.ANTHROPIC, defaults.OPENAI),
        "The LLM that writes questions for your memories (`subcog enrich`) and chooses in second looks; claude is "
        "your own Claude Code, without a key",
        is_personal=True,
    ),
    PathKey("llm.client", "that of a file, such as ~/bin/claude", "Claude Code's executable, where it is not on the PATH"),
    SwitchKey(
        defaults.ENRICH,
        "Whether what `remember` and `import` store gets its questions from that LLM by itself, in the background",
        is_personal=True,
    ),
    SwitchKey(
        defaults.LLM_LEARNS,
        "Whether that LLM is asked, too, what of the sessions that `subcog learn` reads is worth remembering; in the "
        "background where capture.sessions is on",
        is_personal=True,
    ),
    NumberKey("llm.calls_a_day", 0, 10_000, "How many times a day an LLM is asked at rest", is_personal=True),
    ServerKey(
        defaults.SHARE_URL,
        "an address such as postgresql://ada@db.example.com/team or service=team, without a password",
        "The PostgreSQL server on which your team shares memories",
    ),
    ListKey(
        "share.projects",
        "projects, with commas between them",
        "Projects whose memories are shared with the team; nothing else ever leaves",
    ),
    RolesKey(
        "share.cues_from",
        "names of roles on the server, with commas between them",
        "Colleagues whose memories may have triggers, files and conditions, and may be standing",
    ),
    SwitchKey(
        defaults.SHARE_AT_REST,
        "Whether shared projects are synchronised in the background when a session begins",
        is_personal=True,
    ),
    NameKey(
        "embedding.model",
        "a model of `subcog models list`",
        "The model by which `subcog search` compares meanings; the hook always uses minilm",
    ),
    SwitchKey(
        "embedding.background",
        "Whether new memories are embedded in the background; false leaves it to `subcog reindex`",
        is_personal=True,
    ),
)
KEYS = {key.name: key for key in _ALL}
