"""The part of a prompt that a person typed: code, logs, quotations and addresses are taken out, and what they tell is kept.

Every step is linear in what is read of the text, and no more than its head and tail are, but for the fences between them, which
are counted. No regular expressions: importing them would take longer than the whole detection.
"""

from subcog_hooks.text.failures import more_telling, said_by
from subcog_hooks.text.pasted import DIFFS, goes_on, is_command, is_output, is_pasted, is_prose

LATIN_END = "\u0250"  # the first letter behind Latin Extended-B
EMOJI = "\ufe0f"  # a mark that makes an emoji of the sign before it
MAX_TYPED_END = 2_000  # characters from the head and from the tail of a long prompt that are read
_MAX_KEPT = 2 * MAX_TYPED_END + 1  # with what stands between them
MAX_PASTED_LINE = 1_000  # characters of a pasted line that are looked at for what it tells
MAX_ALONE = 200  # characters of a prompt's only line: a longer one that looks pasted is data

NOT_TYPED = (  # what the client sends in the user's name
    "<task-notification",
    "<command-name",
    "<command-message",
    "<local-command",
    "<system-reminder",
    "<user-prompt-submit-hook",
    "<bash-input",
    "<bash-stdout",
    "[request interrupted",
    "this session is being continued from a previous conversation",
    "caveat: the messages below",
)
ADDED = ("ide_opened_file", "ide_selection", "ide_diagnostics", "system-reminder")  # elements that editors put before a prompt
CONTEXT, REQUEST = "# Context from my IDE setup", "## My request for Codex:"  # what one editor puts there, and its end
STAND_INS = ("[image #", "[image: ", "[pasted text #")  # what a terminal shows in place of what was pasted

FENCES = ("```", "~~~")

_PLAIN = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u00b4", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033", '"'),
        "\u00a0": " ",
        "\u2026": "...",
        # in Chinese and Japanese no blank follows them
        "\uff1f": "? ",
        "\uff01": "! ",
        "\uff1a": ": ",
        "\uff0c": ", ",
        "\u3001": ", ",
        "\u3002": ". ",
    }
)


class Prompt:
    """A prepared prompt.

    text: what was typed, with plain quotes, line by line. error: the most telling line of what was pasted, "" when nothing
    there went wrong. pasted: lines of code, logs and quotations that were taken out.
    """

    __slots__ = ("error", "pasted", "text")

    def __init__(self, text: str, error: str = "", pasted: int = 0) -> None:
        self.text = text
        self.error = error
        self.pasted = pasted

    @property
    def failure(self) -> str:
        """The error without what a log notes beside it: times, levels, addresses; "" where there is none."""
        return said_by(self.error) if self.error else ""


def ends_of(prompt: str) -> str:
    """Return the prompt, or head and tail of a long one.

    Only this is read of it, here and for recall.

    >>> len(ends_of("x" * 10_000)), ends_of("short")
    (4001, 'short')
    """
    if len(prompt) > _MAX_KEPT:
        prompt = prompt.strip()
    return prompt if len(prompt) <= _MAX_KEPT else prompt[:MAX_TYPED_END] + "\n" + prompt[-MAX_TYPED_END:]


def asked_in(prompt: str, prepared: Prompt | None = None) -> str:
    """Return what memories are compared with: what was typed of a prompt, else the line that says what failed, else all.

    What was pasted is nothing that a memory has to cover. prepared: the prompt as `prepare` has it, where that is known.

    >>> asked_in("It fails:\\n```\\nTypeError: x is undefined\\n```"), asked_in("```\\nTypeError: x is undefined\\n```")
    ('It fails:', 'TypeError: x is undefined')
    """
    prepared = prepared or prepare(prompt)
    return prepared.text or prepared.failure or ends_of(prompt)


def is_typed(prompt: str) -> bool:
    """Return whether a person asks something of the model: not a command of the client, a shell line or a note to it.

    >>> is_typed("/usr/lib is full"), is_typed("/compact"), is_typed("!ls"), is_typed("# use tabs"), is_typed("#42 fails")
    (True, False, False, False, True)
    """
    bare = prompt.strip()
    start = bare[:80].lower()
    if not start or start.startswith(NOT_TYPED):
        return False
    head = start.split(None, 1)[0]
    is_command = head[0] == "/" and "/" not in head[1:]
    is_shell = head[0] == "!" and not head.startswith("!!")
    is_note = head[0] == "#" and not head.startswith("##") and not head[1:2].isdigit() and "\n" not in bare
    return not (is_command or is_shell or is_note)


def is_latin(text: str) -> bool:
    """Return whether at least half of its letters and digits are Latin.

    Our English signals and model can not read other scripts.

    >>> is_latin("caf\\u00e9 42"), is_latin("\\u8a8d\\u8a3c\\u30b5\\u30fc\\u30d0 API"), is_latin("...")
    (True, False, False)
    """
    if text.isascii():
        return any(map(str.isalnum, text))
    characters = [character for character in text if character.isalnum()]
    return sum(character < LATIN_END for character in characters) * 2 >= max(1, len(characters))


def runs_between_signs(text: str) -> list[str]:
    """Return the texts between a text's signs, in one case.

    Letters with their marks, digits and blanks of any script are no signs.

    >>> runs_between_signs("Да, Спасибо!"), runs_between_signs("好的、继续"), runs_between_signs("...")
    (['да', 'спасибо'], ['好的', '继续'], [])
    """
    import unicodedata  # as in _composed

    signs = {ord(sign): "\n" for sign in {*text} if unicodedata.category(sign)[0] not in "LMN" and not sign.isspace()}
    signs[ord(EMOJI)] = "\n"
    parts = (part.strip() for part in text.casefold().translate(signs).split("\n"))
    return [part for part in parts if any(map(str.isalnum, part))]


def prepare(prompt: str) -> Prompt:
    """Return what was typed of a prompt, and what the rest tells. Never fails.

    Where all looks pasted and nothing went wrong, a line that stands alone was typed, and so was prose behind an open fence.

    >>> read = prepare("It fails\\u2019 with\\n```\\nTypeError: x is undefined\\n```\\nsee https://example.org/x")
    >>> read.text, read.error, read.pasted
    ("It fails' with\\nsee", 'TypeError: x is undefined', 1)
    """
    text = _head_and_tail(prompt)
    if not text.isascii():
        text = _composed(text).translate(_PLAIN)
    typed: list[str] = []
    fenced: list[str] = []  # behind the last fence
    others: list[str] = []  # pasted without one
    error, pasted = "", 0
    fence = before = ""  # before: the line above, when it was pasted
    in_diff = in_output = False  # the latter: behind a command of a shell, up to the next empty line
    for line in _without_added(text).split("\n"):
        bare = line.strip()
        if fence:
            if bare.startswith(fence):
                fence = before = ""
                fenced = []
                continue
            taken = True
            fenced.append(bare)
        elif bare.startswith(FENCES) and "^" not in bare:  # as Python marks a place in a trace
            if bare.count(bare[:3]) == 1:  # else it is closed on the same line
                fence = bare[: len(bare) - len(bare.lstrip(bare[0]))]
            else:
                others.append(bare.strip(bare[0]).strip())
            continue
        else:
            bare = _without_stand_ins(bare)
            in_diff = bare.startswith(DIFFS) or (in_diff and line.startswith(("+", "-", " ", "index ")))
            taken = in_diff or (bool(bare) and (is_pasted(line, bare) or (before != "" and goes_on(before, line, bare))))
            taken = taken or (in_output and is_output(bare))
            in_output = taken and bool(bare) and (in_output or is_command(bare))
        before = line if taken else ""
        if taken:
            pasted += 1
            error = more_telling(error, bare[:MAX_PASTED_LINE])
            if not fence:
                others.append(bare)
        elif bare := _without_links(bare):
            typed.append(bare)
    if not typed and not error:
        after_all = _typed_after_all(fenced, others, pasted)
        typed = list(filter(None, map(_without_links, after_all)))
        pasted -= min(pasted, len(after_all))
    return Prompt("\n".join(typed), error, pasted)


def _typed_after_all(fenced: list[str], others: list[str], pasted: int) -> list[str]:
    """Return the lines that were typed when all look pasted.

    fenced: behind an open fence; others: without one; pasted: how many.
    """
    if fenced:
        return [line for line in fenced if line and is_prose(line)]
    return others if len(others) == 1 and pasted < 2 and len(others[0]) <= MAX_ALONE else []


def _head_and_tail(prompt: str) -> str:
    """Return the part of a prompt that is read.

    A fence that begins or ends in the part left out does so where that was.
    """
    text = ends_of(prompt)
    if text is prompt or FENCES[0] not in prompt:
        return text
    whole = prompt.strip()
    between = whole.count(FENCES[0], MAX_TYPED_END, len(whole) - MAX_TYPED_END)
    return f"{text[:MAX_TYPED_END]}\n{FENCES[0]}{text[MAX_TYPED_END:]}" if between % 2 else text


def _composed(text: str) -> str:
    """Return `text` in normal form C. Half a surrogate pair stays what it is."""
    import unicodedata  # .2 ms, for what is not ASCII

    return unicodedata.normalize("NFC", text)


def _without_added(text: str) -> str:
    """Return `text` without what an editor has put before it."""
    if text.startswith(CONTEXT):
        text = text.partition(REQUEST)[2] or text
    if "<" not in text:
        return text
    for name in ADDED:
        begin = f"<{name}"
        while (start := text.find(begin)) >= 0:
            end = text.find(f"</{name}>", start)
            if end < 0:
                break
            text = text[:start] + text[end + len(name) + 3 :]
    return text


def _without_stand_ins(bare: str) -> str:
    while bare[:1] == "[" and "]" in bare and bare[:20].lower().startswith(STAND_INS):
        bare = bare.partition("]")[2].lstrip()
    return bare


def _without_links(bare: str) -> str:
    if "://" not in bare and "www." not in bare:
        return bare
    return " ".join(filter(None, map(_without_link, bare.split())))


def _without_link(word: str) -> str:
    """Return what is no address of a word.

    It is "" or, where words are written without blanks, what stands before the address.
    """
    before, sign, _ = word.partition("://")
    if word.startswith("www.") or (sign and before.isascii()):
        return ""
    return before.rstrip("abcdefghijklmnopqrstuvwxyz") if sign else word
