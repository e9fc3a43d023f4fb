"""The signs by which a sentence of a typed turn is worth remembering or not: how it is said, and what stood before it.

No sign knows a subject. A pattern is tried on one sentence in small letters, with plain quotes. Pure.
"""

from __future__ import annotations

import re

from subcog_hooks.capture.sessions.turns import ANSWER, CALL_FAILED, CALL_REFUSED, TypedTurn
from subcog_hooks.text.needs import sentences
from subcog_hooks.text.typed import prepare

MOST_SENTENCES = 60  # of a turn that are looked at
LEAST_SENTENCE = 2  # of a sentence that can be worth anything
LONGEST_SENTENCE = 600  # characters; what is longer is data
INTERCEPT = "intercept"
WORD = "word: "  # begins the sign that a word is in a sentence; which words count, the weights say
OF_A_WORD = 0.8  # the value of such a sign: the other ones say more

_PATTERNS: dict[str, str] = {
    # how widely it holds
    "always": r"\b(always|never|every ?time|whenever|everywhere|at all times|no matter|in general|generally)\b",
    "from now on": (
        r"\b(from now on|going forward|from here on|in (the )?future|next time|by default|as a rule|in all cases|for "
        r"good)\b"
    ),
    "each": r"\b(every|each|all|any|both|no \w+s)\b",
    "only": r"\b(only|exclusively|nothing but|solely)\b",
    "for now": (
        r"\b(for now|this time|for the moment|for today|temporar\w+|right now|just this|at this point|first|then|next)"
        r"\b"
    ),
    # duty and bar
    "must": r"\b(must|shall|have to|has to|need to be|needs to be|required|mandatory|non-negotiable)\b",
    "should be": r"\bshould(n't| not)?\b",
    "told not to": (
        r"\b(don't|dont|do not|never|avoid|stop|quit|without|no more|nobody|must not|mustn't|should not|shouldn't|"
        r"shouldnt)\b"
    ),
    "not that one": r"\b(don't|do not|never|stop|without|leave|skip|ignore)\b.{0,40}\b(that|this|these|those) \w+",
    "not wanted": (
        r"\b(don't|dont|do not|doesn't|never|won't) (ever )?(want|need|like|care|use|add|touch|change|create|write|"
        r"put|commit|push|run|make|start|ask)\b"
    ),
    "no need": (
        r"\b(no need|not needed|don't need|dont need|needn't|not necessary|unnecessary|don't bother|do not bother|not "
        r"part of|out of scope)\b"
    ),
    "cannot": (
        r"\b(can't|cant|cannot|can not|not allowed|isn't allowed|not possible|unable to|won't work|doesn't work (with|"
        r"from|in|on))\b"
    ),
    # choice
    "instead": r"\b(instead( of)?|rather than|in favou?r of|as opposed to|over the|not the)\b",
    "one not the other": (
        r",? (not|never|no) (?:the |an? |in |with |by |through |via )?[\w`./@-]+(?: [\w`./@-]+){0,3}\s*[.!)]?$"
    ),
    "use it": (
        r"\b(use|using|uses|stick (to|with)|go with|going with|switch(ing)? to|migrat\w+ to|move to|moving to|based "
        r"on|built (on|with)|runs? on)\b"
    ),
    "we use": (
        r"\b(we|i|they|the (team|project|app|company))('re| are|'m| am)? ?(now |always |only |already |still |"
        r"currently )?(use|using|run|running|deploy|prefer|keep|write|call|follow|have|on|test|ship|work|store|treat)"
        r"\b"
    ),
    "decided": (
        r"\b(decided|decision|agreed|settled|convinced|changed my mind|scrap\w*|dropp(ed|ing)|ditch\w*|going to be|"
        r"will be|won't be|no longer|abandon\w*|replac(e|es|ed|ing))\b"
    ),
    "prefers": (
        r"\b(prefer\w*|i'd rather|would rather|i like|i love|i hate|don't like|dont like|do not like|i want|we want|"
        r"i'd like|i would like|my preference|favou?rite|taste)\b"
    ),
    "keep it": r"\b(keep|leave|stay|remain|maintain)\b",
    "apart": (
        r"\b(separate(ly)?|own|distinct|single|same|split|mirror\w*|one (file|place|test|per)|per|unified|central\w*|"
        r"consistent\w*|dedicated)\b"
    ),
    # reason
    "because": (
        r"\b(because|since|cause|so that|so (the|we|they|it|i|users?)|otherwise|the reason|due to|that's why|this way|"
        r"in order to|as (we|it|they|the|this|i)|or else|reason)\b"
    ),
    "if": r"\b(if|when|unless|before|after|once|whenever|until)\b",
    # whole sentences that are a rule in few words
    "use this": (
        r"^((no|but|and|please|pls|just|again|always|only|then|ok|so|we) ?[,:!.]* ?)*(use|using|prefer) (?!(it|this|"
        r"that|these|those|them|the (first|second|third|last|same|other))\b)[\w`./@+-]+( [\w`./@+-]+){0,2}( here| "
        r"please| always| only)?( (instead( of)?|rather than|not|over|and not|in place of) .+)?[.!]*$"
    ),
    "none of it": (
        r"^(no|never|without) (?!(i|it|this|that|you|need|problem|worries|rush|idea|thanks|way|matter|one|wait|not|"
        r"but|errors?|change|luck)\b)[\w`./@+-]+( [\w`./@+-]+){0,3}[.!]*$"
    ),
    "x not y": r"\b(not|never|no) [\w`./@+-]+( [\w`./@+-]+)?[.!)]*$",
    "exists here": (
        r"\b(we('re| are| already)? (use|using|have|on)|there('s| is) (already )?an?|it('s| is) (already )?(running|"
        r"there|installed|supported)|supports|(doesn't|does not|isn't|is not) (exist|supported|there))\b"
    ),
    "write a rule": (
        r"\b(add|make|write|create|record|update|document|put|save|note)\b.{0,40}\b(rules?|preferences?|conventions?|"
        r"guidelines?|note|claude\.md|agents\.md|instructions|\.mdc|memory|constitution)\b"
    ),
    "divides": (
        r"\b(separate(ly)?|own|single|one|1|same|distinct|different|split|into|per|every|each|mirror\w*)"
        r"\b.{0,30}\b(files?|folders?|director(y|ies)|modules?|class(es)?|packages?|tables?|branch(es)?|commits?|"
        r"tests?)\b"
    ),
    "brief": (
        r"\b(is|build|building|create|creating|develop\w*|making|make|want)\b.{0,40}\b(app|application|tool|library|"
        r"widget|extension|plugin|platform|game|website|bot|mod|product|service|package|framework)\b"
    ),
    "never mind": (
        r"\b(backwards? compat\w*|don't (bother|worry|care)|do not (bother|worry)|doesn't matter|not (needed|"
        r"necessary|required)|never be part|out of scope)\b"
    ),
    "same everywhere": (
        r"\b(everywhere( else)?|across|throughout|for all|in all|all (the )?\w+s|any other|whole|entire(ly)?|"
        r"similarly|same (way|pattern|format|as)|consisten\w*)\b"
    ),
    "do it yourself": (
        r"\b(do it|yourself|don't just|dont just|without asking|never ask|stop asking|go ahead and|i will|i'll|myself|"
        r"manually|by hand|i do)\b"
    ),
    "the way": (
        r"\b((the|only|right|correct|proper|standard|usual|best|new) (only )?(right |correct |proper )?way|way (we|to|"
        r"of)|how we|the process|process|workflow|loop|steps|approach|method)\b"
    ),
    "was": r"\b(was|were|had|did|used to|before|earlier|last time|previously)\b",
    # talk about rules and notes
    "rule": (
        r"\b(rules?|convention\w*|polic(y|ies)|standards?|guidelines?|principles?|preferences?|patterns?|constraints?|"
        r"requirements?|invariants?|constitution|instructions|structure|architecture)\b"
    ),
    "remember": (
        r"\b(remember|record (this|that|it|these|a)|recording|write (this|that|it) down|document (this|that|it)|"
        r"documented|make a note|take note|note that|keep in mind|keeping in mind|bear in mind|for the record|fyi|"
        r"reminder|be aware|important)\b"
    ),
    "told to remember": (
        r"^(please |pls |and |also |so |ok(ay)?,? )*"
        r"(remember|keep in mind|bear in mind|note|for the record|reminder)( that|,|:)"
    ),
    # the agent did or believed something wrong
    "no": r"^(no|nope|nah|wrong|not quite|incorrect|oops|hmm+|wait|hold on|stop(?! (the|it|that|this)\b))\b[, .!]?",
    "actually": r"^(actually|well|but|ok(ay)? but|yes,? but|still)\b",
    "missed": r"\byou('ve)? (missed|forgot|ignored|skipped|left out|overlooked) (the|to|that|our|any|what|about) \w+",
    "time and again": r"\b((second|third|fourth|\d(nd|rd|th)) time|how (many times|often) do|(again|time) and again)\b",
    "wrong": (
        r"\b(wrong|incorrect|mistake\w*|misunderst\w+|not what i|not right|isn't right|not true|that's not|thats not|"
        r"this is not|isn't how|shouldn't have|opposite|inverted|overcomplicat\w*|you (missed|forgot|ignored|broke|"
        r"removed|skipped))\b"
    ),
    "said before": (
        r"\b(i (said|told|asked|mentioned|meant|already|just) \w*|like i said|as i said|as i told|again|third time|"
        r"how many times|wasn't that clear|remember\?|keep (doing|making|using|asking|forgetting)|every time you|"
        r"still (using|doing))\b"
    ),
    "you did": (
        r"\b(you('re| are| were|'ve| have)? (still |not |just |also |always |keep )?(us\w+|did\w*|ma(de|king)|add(ed|"
        r"ing)|put|creat\w+|start\w+|chang\w+|delet\w+|writ\w+|wrote|do(ing)?|run\w*|ran|seem|keep|forgot|miss\w*|"
        r"broke|wrote|ignor\w+))\b"
    ),
    "why you": r"\b(why (did|are|do|were|didn't|didnt|don't|is|would) (you|we|there)|who (said|told))\b",
    "you should": (
        r"\byou('ll)? (should|must|need to|have to|can always|can't|cannot|shouldn't|will|may|are to|never|always)\b"
    ),
    # facts of the person and the project
    "i am": r"\b(i'm|i am|i have|i've|i work|i run|i use|my|mine)\b",
    "we have": r"\b(we|we're|we've|our|ours|us|they|their)\b",
    "is a": (
        r"\b(is|are|was|means?|stands for|refers to|represents?|contains?|includes?|comes? (from|with)|lives? (in|at|"
        r"on)|belongs?) (a|an|the|our|in|on|at|for|only|already|always|never|not|just)\b"
    ),
    "does": (
        r"\b(gets?|takes?|returns?|needs?|requires?|expects?|goes|happens?|lives?|sits?|covers?|supports?|depends?|"
        r"relies|holds?|represents?|reads?|sends?|ends?|starts?)\b"
    ),
    "already": (
        r"\b(already|existing|exists|currently|there('s| is| are)|nothing has|not yet|so far|installed|available|"
        r"configured|connected)\b"
    ),
    "project": (
        r"\b(this|the|our|my|whole|entire) (project|app|application|repo|repository|codebase|site|website|tool|"
        r"product|game|library|package|service|system|platform|goal|purpose|idea|aim|mod|widget|team|company|backend|"
        r"frontend|api|database|server|user|users|customers?|plan)\b"
    ),
    "goal": (
        r"\b(goals?|purpose|aim|aims|vision|roadmap|eventually|intended|meant|supposed|target|objective|long[- ]term|"
        r"mvp|focus|critical|priorit\w+)\b"
    ),
    "measure": (
        r"\b(at (least|most)|max(imum)?|min(imum)?|limit\w*|up to|no more than|less than|more than|within|under|over|"
        r"~?\d+(\.\d+)? ?(%|ms|s|sec|seconds|minutes|hours|days|gb|mb|kb|px|rows?|lines?|characters|users|requests|"
        r"percent))\b|\d%"
    ),
    "place": (
        r"\b(in (production|prod|staging|ci|dev|development)|on (prod|staging|ci|windows|linux|mac|my machine|the "
        r"server)|locally|locale?host|machine|laptop|server|branch|env(ironment)?( var\w*)?|\.env|account|credentials|"
        r"secrets?)\b"
    ),
    "trap": (
        r"\b(breaks?|crash\w*|fails?|flaky|careful|beware|trap|gotcha|watch out|warning|caveat|leak\w*|problematic|"
        r"dangerous|breaking|corrupt\w*|lose|lost|duplicates?|recur\w*|reoccur\w*|repeatedly)\b"
    ),
    "contrast": (
        r"\b(but|however|although|though|except|unless|apart from|other than|even (if|though)|while|whereas|either)\b"
    ),
    "compat": r"\b(backward\w*|compatib\w*|legacy|deprecat\w*|old (one|version|code|way|format)s?|migrat\w+)\b",
    # an order about the task at hand
    "order": (
        r"^(please |pls |ok(ay)?,? |now,? |great[!,.]* |also,? |then,? |and |lets |let's |can you |could you |can "
        r"we |could we |just |so |yes,? |i need you to |i want you to |go ahead and |help me |try to |try |we need to "
        r"|need to )*"
        r"(add|fix|implement|create|make|update|change|remove|delete|rename|write|generate|check|run|show|give|see|"
        r"look|find|read|review|list|explain|continue|proceed|commit|push|build|move|refactor|convert|investigate|"
        r"verify|test|do|start|finish|analy[sz]e|compare|suggest|provide|replace|install|set|put|open|close|revert|"
        r"undo|redo|merge|deploy|improve|clean|extract|wire|hook|debug|apply|complete|confirm|ensure|tell|help|"
        r"document|plan|search|scan|configure|enable|disable|try|print|draw|design|go|take|get|turn|think|work|"
        r"rebase|bump|handle|double|re-?run|examine|ignore|split|reset|use|keep|don't)\b"
    ),
    "polite": (
        r"\b(please|pls|plz|plese|can you|could you|can we|could we|would you|help me|i need|i want to|let's|lets|"
        r"thanks|thank you)\b"
    ),
    "sure": r"\b(make sure|ensure|be sure|verify|double[- ]check|confirm)\b",
    "ask": (
        r"^(what|why|how|which|who|where|when (is|are|do|does|did|will|can|should|was|were|would)|is|are|does|"
        r"do (i|you|we|they|the|these|those)|did|can|could|should|would|will|have (i|you|we|they)|has|any|was|am|"
        r"isn't|aren't|don't (i|you|we|they)|won't)\b"
    ),
    "think": (
        r"\b(i think|maybe|perhaps|probably|might|not sure|i guess|i'm not sure|seems?|looks like|wonder\w*|what do "
        r"you think|let me know|i believe|should we|do we|do you)\b"
    ),
    "points": r"\b(this|that|these|those|it|here|above|below|following|attached|latter|former|them)\b",
    "now": (
        r"\b(now|today|tomorrow|yesterday|currently|at the moment|yet|this (session|task|pr|issue|bug|error|commit|"
        r"file|line|step|test)|last (step|message|commit))\b"
    ),
    "broken": (
        r"\b(error|errors|exception|traceback|fails|failed|failing|broken|bug|bugs|crash\w*|not working|doesn't work|"
        r"doesnt work|isn't working|still (get|getting|see|seeing|not|fail\w*|happening)|issue|issues|undefined|null|"
        r"warning\w*|nothing (happens|is happening)|happened|happening|weird|wierd|stuck)\b"
    ),
    "shape": (
        r"\b(button|modal|page|column|field|row|icon|header|footer|sidebar|colou?r|margin|padding|font|click\w*|"
        r"hover\w*|screen|dropdown|tab|label|text|image|width|height|layout|prop|props|component|parameter|param|"
        r"argument|endpoint|route|table|function|method|class|variable|input|output)s?\b"
    ),
    "praise": (
        r"^(great|nice|perfect\w*|awesome|good|cool|thanks|thank you|excellent|amazing|ok(ay)?|yes|yep|yeah|sure|"
        r"sounds good|looks good|love it|works?|done)\b"
    ),
    "yes and": r"^(yes|yeah|yep|ok(ay)?|sure|right|correct|great|good|perfect\w*|agreed|sounds good|fine)\b.{12,}",
}
_COMPILED = [(name, re.compile(pattern)) for name, pattern in _PATTERNS.items()]
_PATTERN_OF = dict(_COMPILED)
_OBJECTIONS = ("no", "wrong", "said before", "missed", "time and again", "why you")
_NAMED = re.compile(
    r"`[^`]+`|@[\w./-]+|\b[\w-]+\."
    r"(?:py|js|ts|tsx|jsx|md|json|toml|yaml|yml|css|html|rs|go|java|rb|sh|sql|ex|exs|mdc|txt|cfg|env)\b"
)
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
_HEADING = re.compile(r"^#{1,6} |^\*\*.+\*\*:?$|:$")
_SLASH = re.compile(r"^/[a-z][\w-]*\s")
_WORD = re.compile(r"[a-z][a-z']*")
_CONTRACTED = {
    word.replace("'", ""): word
    for word in (
        *("don't", "doesn't", "didn't", "isn't", "aren't", "wasn't", "weren't", "can't", "won't", "wouldn't", "shouldn't"),
        *("couldn't", "haven't", "hasn't", "mustn't", "needn't", "that's", "there's", "you're", "they're", "i've"),
    )
}
_BARE = re.compile(rf"\b({'|'.join(_CONTRACTED)})\b")
_LENGTHS = ((3, "3 words"), (7, "7 words"), (14, "14 words"), (28, "28 words"), (60, "60 words"))
_TURN_LENGTHS = ((60, "turn of 60"), (160, "turn of 160"), (400, "turn of 400"), (1_200, "turn of 1,200"))


class Sentence:
    """A sentence of a turn: its text as it was typed, its place among them, and its signs."""

    __slots__ = ("place", "signs", "text")

    def __init__(self, text: str, place: int, signs: dict[str, float]) -> None:
        self.text = text
        self.place = place
        self.signs = signs


def sentences_of(turn: TypedTurn) -> list[Sentence]:
    """Return the sentences that a person typed in a turn, with their signs."""
    prepared = prepare(turn.text)
    texts = [text for text in sentences(prepared.text) if len(text) <= LONGEST_SENTENCE][:MOST_SENTENCES]
    of_turn = _signs_of_turn(turn, prepared.text, len(texts), prepared.pasted)
    objecting = [_objects(text) for text in texts]
    found = []
    for place, text in enumerate(texts):
        words = text.split()
        if len(words) >= LEAST_SENTENCE:
            signs = {INTERCEPT: 1.0, **_signs_of_sentence(text, len(words), place), **of_turn}
            if any(objecting[:place]) or any(objecting[place + 1 :]):
                signs["beside an objection"] = 1.0
            found.append(Sentence(text, place, signs))
    return found


def without_bullet(text: str) -> str:
    """Return a line of a list without its sign.

    >>> without_bullet("- no default exports"), without_bullet("2. run it")
    ('no default exports', 'run it')
    """
    return _BULLET.sub("", text)


def _signs_of_sentence(text: str, words: int, place: int) -> dict[str, float]:
    bare = _BULLET.sub("", text)
    plain = _with_apostrophes(_SLASH.sub("", bare).lower().replace("\u2019", "'"))
    found = {f"{WORD}{word}": OF_A_WORD for word in _WORD.findall(plain)}
    found |= {name: 1.0 for name, pattern in _COMPILED if pattern.search(plain)}
    if plain.rstrip().endswith("?"):
        found["question"] = 1.0
    if len(bare) < len(text):
        found["bullet"] = 1.0
    if _HEADING.search(text):
        found["heading"] = 1.0
    if _NAMED.search(bare):
        found["names code"] = 1.0
    if bare.isupper() or sum(word.isupper() and len(word) > 2 for word in bare.split()) > 1:
        found["loud"] = 1.0
    if "!" in bare:
        found["exclaims"] = 1.0
    if place == 0:
        found["first"] = 1.0
    for most, name in _LENGTHS:
        if words <= most:
            found[name] = 1.0
            break
    return found


def _objects(text: str) -> bool:
    """Return whether a sentence says that the agent did or believed something wrong."""
    plain = _with_apostrophes(text.lower().replace("\u2019", "'"))
    return any(_PATTERN_OF[name].search(plain) for name in _OBJECTIONS)


def _with_apostrophes(text: str) -> str:
    """Return a text in small letters with the apostrophes that people leave out.

    >>> _with_apostrophes("dont just tell me, thats still wrong")
    "don't just tell me, that's still wrong"
    """
    return _BARE.sub(lambda found: _CONTRACTED[found[0]], text)


def _signs_of_turn(turn: TypedTurn, typed: str, count: int, pasted: int) -> dict[str, float]:
    before = turn.before
    length = next((name for most, name in _TURN_LENGTHS if len(typed) <= most), "long turn")
    found = {
        length: True,
        "pasted": pasted > 0,
        "much pasted": pasted > 5,
        "document": len(turn.text) > 4_000,
        "alone": count == 1,
        "opens": turn.place == 0,
        "was asked": before.asked,
        "behind an edit": before.changed,
        "answers a call": turn.kind == ANSWER,
        "refused": before.outcome == CALL_REFUSED,
        "behind a failure": before.outcome == CALL_FAILED,
    }
    return {name: 1.0 for name, holds in found.items() if holds}
