"""Text files as other programs write them, and the limits on fields that a repository's file may set."""

import codecs
import os
import re
from collections.abc import Iterable, Mapping

from subcog_hooks.capture import markdown
from subcog_hooks.core.errors import InvalidMemory, UsageError
from subcog_hooks.core.files import NotRegular, account_folder, leads_out, read_regular
from subcog_hooks.core.repository_variables import find_repository, is_users_own
from subcog_hooks.cues import globs
from subcog_hooks.store.memory import FILE, MAX_QUESTION, PERSON, AnsweredQuestion, Memory
from subcog_hooks.store.project import Project, find_project

MAX_MARKDOWN = 4_000_000  # bytes of a Markdown file; the longest changelogs have one million
MAX_MARKDOWN_LINES = 100_000  # lines of a Markdown file; its parser takes 2 KB a line
MAX_NULS = 0.1  # of the characters of a text in UTF-8; a binary file has more, or is no UTF-8

UTF16_MARKS = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}
_BAD_BYTE = re.compile("[\udc80-\udcff]")
_BEYOND_ASCII = re.compile("[^\0-\x7f\udc80-\udcff]")
_OTHER_ALPHABET = re.compile(rb"[\x80-\xff]{6}")  # No western word has six such letters in a row.


def read_text_file(path: str) -> tuple[str, int, str] | str:
    """Return a file's text, the time of its last change (ms since the epoch), and a remark on its encoding; else the reason."""
    try:
        raw = read_regular(path, MAX_MARKDOWN + 1)
        changed_ms = int(os.stat(path).st_mtime * 1000)
        if len(raw) > MAX_MARKDOWN:
            return f"has more than {MAX_MARKDOWN:,} bytes; split it"
        text, remark = decode_text(raw)
    except NotRegular:
        return "is no regular file"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    except ValueError as error:
        return str(error)
    if text.count("\n") > MAX_MARKDOWN_LINES:
        return f"has more than {MAX_MARKDOWN_LINES:,} lines; split it"
    return text, changed_ms, remark


def decode_text(raw: bytes) -> tuple[str, str]:
    """Return the text of a file, and a remark unless it is UTF-8. Raises ValueError for a binary file and other encodings.

    >>> decode_text("Grüße".encode("utf-16")), decode_text("Grüße".encode("cp1252"))
    (('Grüße', 'is read as UTF-16'), ('Grüße', 'is read as Windows-1252'))
    """
    remark = ""
    if encoding := next((encoding for encoding, mark in UTF16_MARKS.items() if raw.startswith(mark)), ""):
        text, remark = raw.decode(encoding, "replace").removeprefix("\ufeff"), "is read as UTF-16"
    else:
        text = raw.decode("utf-8-sig", "surrogateescape")
        bad_bytes = len(_BAD_BYTE.findall(text))
        if bad_bytes > len(_BEYOND_ASCII.findall(text)) and not raw.startswith(codecs.BOM_UTF8):
            text, remark = raw.decode("cp1252", "replace"), "is read as Windows-1252"
        elif bad_bytes:
            text, remark = _BAD_BYTE.sub("\ufffd", text), f"has bytes that are not UTF-8: {bad_bytes}, shown as U+FFFD"
    if text.count("\0") > (0 if remark else MAX_NULS * len(text)):
        raise ValueError("is a binary file")
    if "1252" in remark and _OTHER_ALPHABET.search(raw):
        raise ValueError("is neither UTF-8 nor UTF-16 nor Windows-1252; save it as UTF-8")
    return text, remark


CUE_FIELDS = ("triggers", "paths", "when", "questions", "standing")  # bring a memory without a prompt in its words
LIMITED_FIELDS = (*CUE_FIELDS, "keywords", "priority")  # are not for a repository's file to choose
RULE_GLOBS = ("globs", "glob", "applyto")  # the fields with globs in the front matter of tools' rules
MIN_DESCRIPTION = 3  # words of a description that can be asked for
_ON_REQUEST = ("model_decision", "manual")  # triggers of Windsurf's rules that the model or the person asks for


def find_holder(path: str, usual: str = "") -> Project | None:
    """Return the repository that holds a file or folder, None for the person's own files.

    A path is the person's own in `usual`, its program's usual folder, and in a repository that holds the person's whole home.
    Raises UsageError for a link that leads out of a repository.
    """
    named, real = os.path.abspath(path), os.path.realpath(path)
    nearest_root = find_repository(os.path.dirname(named))
    if nearest_root and not _is_users_own(named, usual, nearest_root) and leads_out(path, nearest_root):
        raise UsageError(f"{path} is a link out of its repository", "name the file or folder that it leads to")
    here = find_project(real if os.path.isdir(real) else os.path.dirname(real))
    return here if here and not _is_users_own(named, usual, here.root) else None


def _is_users_own(path: str, usual: str, root: str) -> bool:
    """Return whether a path in a repository is the person's own, as far as no repository can have set `~`."""
    try:
        is_usual = os.path.join(path, "").startswith(os.path.join(os.path.abspath(usual), "")) if usual else False
        return (is_usual and is_users_own(os.path.expanduser("~"))) or not leads_out(account_folder(), root)
    except OSError:  # the system does not know this user
        return False


def clear_fields(memory: Memory, names: Iterable[str]) -> Memory:
    """Return a memory with the defaults of these fields."""
    bare = Memory(id=memory.id, content=memory.content)
    return memory.with_changes(**{name: getattr(bare, name) for name in names})


def limit_to_repository(memory: Memory, repository: str, paths: Iterable[str] = ()) -> Memory:
    """Return the text that a repository's file gives: about that repository, by its identity, and a file's word.

    Questions in the text's own words stay, as do `paths` of its front matter, and a rule may be for fewer sessions.
    """
    kept = {
        "paths": tuple(narrow_globs(paths)),
        "questions": tuple(question for question in memory.questions if question.text in memory.content),
        "standing": False if memory.standing is False else None,
    }
    owner = {"scope": "project", "project": repository, "trust": FILE}
    return clear_fields(memory, LIMITED_FIELDS).with_changes(**owner, **kept)


def read_rule_cues(fields: Mapping[str, list[str]], location: str) -> tuple[list[str], bool | None]:
    """Return the globs of a rule's files from the repository's root, and False for a rule that its tool's model asks for.

    fields: its front matter. location: of its file, from the root: globs of a package's rule hold below the package.

    >>> read_rule_cues({"globs": ["src/**, *.css"]}, "web/.cursor/rules/a.mdc"), read_rule_cues({"globs": ["*.css"]}, "a.mdc")
    ((['web/src/**', 'web/**/*.css'], None), (['*.css'], None))
    >>> read_rule_cues({"description": ["Releases"], "alwaysapply": ["false"]}, ".cursor/rules/a.mdc")
    ([], False)
    """
    patterns = [pattern for key in RULE_GLOBS for value in fields.get(key, []) for pattern in markdown.split_list(value)]
    trigger, always = (markdown.first_value(fields, name).lower() for name in ("trigger", "alwaysapply"))
    is_asked_for = trigger in _ON_REQUEST or always == "false" or (bool(fields.get("description")) and not trigger)
    is_for_all = bool(patterns) or always == "true"
    folder = package_of(location)
    if folder:
        base = escape_glob(folder) + "/"
        below = (pattern.removeprefix("./") for pattern in patterns if not globs.is_absolute(pattern))
        patterns = [
            pattern if pattern.startswith(base) else base + ("" if "/" in pattern else "**/") + pattern for pattern in below
        ]
    return patterns, False if is_asked_for and not is_for_all else None


def ask_description(description: str, by: str = PERSON) -> tuple[AnsweredQuestion, ...]:
    """Return the description of a text as the question that it answers; none for a word or two. by: its author."""
    is_phrase = len(description.split()) >= MIN_DESCRIPTION
    return (AnsweredQuestion(description[:MAX_QUESTION].strip(), by),) if is_phrase else ()


def package_of(location: str) -> str:
    """Return the folder that a rule file governs, "" for the repository: the parent of its tool's folder, else its own folder.

    >>> package_of("web/.cursor/rules/a.mdc"), package_of("web/AGENTS.md"), package_of("docs/rules/a.mdc")
    ('web', 'web', '')
    """
    folders = location.split("/")[:-1]
    hidden = next((position for position, name in enumerate(folders) if name.startswith(".")), None)
    if hidden is None and location.endswith(".mdc"):
        return ""
    return "/".join(folders[:hidden])


def escape_glob(path: str) -> str:
    """Return the glob of a path alone."""
    return "".join(f"[{character}]" if character in "*?[{" else character for character in path)


def narrow_globs(paths: Iterable[str]) -> list[str]:
    """Return the globs of some files of a repository.

    >>> narrow_globs(["**", "src/**", "{*,**/*}", "/etc/*", "src/[ab", "*.sql"])
    ['src/**', '*.sql']
    """
    return [glob for glob in paths if is_glob(glob) and not globs.is_absolute(glob) and not globs.matches_most_files(glob)]


def is_glob(text: str) -> bool:
    try:
        globs.check_glob(text)
    except InvalidMemory:
        return False
    return True
