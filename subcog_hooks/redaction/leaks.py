"""The second pass over a text on its way out: unmistakable secrets and private spans, nothing that needs a judgement.

The first pass is `redact`, before a memory is stored. This one is on the hook's path, so it imports nothing until a text
holds one of the literals that every pattern here requires.
"""

MASK = "[redacted]"

_LITERALS = (
    "AKIA",
    "ASIA",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "sk-ant-",
    "sk-proj-",
    "sk-svcacct-",
    "T3BlbkFJ",
    "xox",
    "AIza",
    "glpat-",
    "hf_",
    "npm_",
    "PRIVATE KEY",
    "eyJ",
)

# Every run is bounded, excludes what begins the next match, or is possessive behind a look-behind: linear by construction.
_TOKENS = r"""
    (?<![A-Za-z0-9])
    (?:
        (?:AKIA|ASIA)[0-9A-Z]{16}
      | gh[pousr]_[A-Za-z0-9_]{36,}
      | github_pat_[A-Za-z0-9_]{22,}
      | sk-(?:ant|proj|svcacct)-[A-Za-z0-9_-]{16,}
      | sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20,}
      | xox[abeopsr](?:\.xox[bp])?-[A-Za-z0-9-]{10,}
      | AIza[0-9A-Za-z_-]{35,}
      | glpat-[A-Za-z0-9_.-]{20,}
      | hf_[A-Za-z0-9]{30,}
      | npm_[A-Za-z0-9]{36,}
    )
    [A-Za-z0-9_-]*
  | (?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}+\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?
  | -{4,5}[ ]?BEGIN[ ][A-Z0-9 ]{0,40}PRIVATE[ ]KEY(?:[ ]BLOCK)?[ ]?-{4,5}[^\n]*(?:\n[A-Za-z0-9+/=\r]{16,})*
"""
# The password alone, behind "://user:"; what begins like a variable or a mask is none.
_IN_URL = r"""(://[^\s/:@?\#"'`<>]*:)(?![$%{*\[])[^\s/"'`<>]+(?=@)"""
_PRIVATE_TAG = r"<(/?)private(?=[\s/<>])[^>]*>"


def mask(text: str) -> str:
    """`text` with what looks like a secret replaced by `[redacted]`, and without its `<private>` spans.

    A text that holds none comes back as the same object; masking twice is masking once.
    """
    if "<" in text:
        text, _ = without_private(text)
    has_token = any(literal in text for literal in _LITERALS)
    has_password = "@" in text and any(_has_password(piece) for piece in text.split("://")[1:])
    if not (has_token or has_password):
        return text
    import re  # 3 ms in a fresh process: paid only by a text that holds one of the literals

    if has_token:
        text = re.sub(_TOKENS, MASK, text, flags=re.VERBOSE)
    if has_password:
        text = re.sub(_IN_URL, rf"\1{MASK}", text)
    return text


def _has_password(after_scheme: str) -> bool:
    user, at, _ = after_scheme.partition("/")[0].rpartition("@")
    return bool(at) and ":" in user


def without_private(text: str) -> tuple[str, int]:
    """`text` without its `<private>…</private>` spans, and how many of them there were.

    Spans nest; one that is never closed reaches to the end; a closing tag on its own is dropped.
    """
    if "<private" not in text and "private" not in text.lower():
        return text, 0
    import re  # 3 ms in a fresh process: paid only by a text that may hold a private span

    kept: list[str] = []
    position = depth = spans = 0
    last = text.rfind(">") + 1  # no tag ends beyond it: without this bound, thousands of open tags cost a scan each
    for tag in re.compile(_PRIVATE_TAG, re.IGNORECASE).finditer(text, 0, last):
        if depth == 0:
            _join(kept, text[position : tag.start()])
        if not tag[1]:
            depth += 1
            spans += depth == 1
        elif depth:
            depth -= 1
        position = tag.end()
    if not position:
        return text, 0
    if depth == 0:
        _join(kept, text[position:])
    return "".join(kept), spans


def _join(kept: list[str], piece: str) -> None:
    """Adds `piece` with white space at the joint, so that the two sides can not form a word or a tag that was not there."""
    if not piece:
        return
    if kept:
        before = kept[-1][-1]
        if before == piece[0] == " ":
            piece = piece[1:]
        elif not (before.isspace() or piece[0].isspace()):
            kept.append(" ")
    if piece:
        kept.append(piece)
