"""Edits a memory as a text in $EDITOR and reads the changed fields back."""

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping

from subcog_hooks.cli.terminal import context, inputs
from subcog_hooks.cli.terminal.output import terminal
from subcog_hooks.core.errors import InvalidMemory, StoreError, SubcogError, UsageError
from subcog_hooks.core.files import create_private_file, make_private_folder
from subcog_hooks.core.paths import Home
from subcog_hooks.cues import condition_checks
from subcog_hooks.store import questions
from subcog_hooks.store.memory import PERSON, Memory

_HEADER = """\
# Fields above the dashes may be changed, the text is below them. An empty text changes nothing.
# Each trigger, path, condition and question has a line of its own: add lines, or take some away."""
_DASHES = "---"
_JOINED = ("tags", "keywords")  # Their entries share one line.
_STANDING = {"yes": True, "no": False, "": None}  # None: the memory's text decides.
# Each entry has its own line, as it may contain commas.
_REPEATED = {"trigger": "triggers", "path": "paths", "when": "when", "question": "questions"}


class Editor:
    """A session of $EDITOR on a memory; `with` gives the changed fields.

    The file lies in a folder of its own in the home, as editors put copies beside it. It is removed on success; after a failure
    the error names its path. Raises UsageError, StoreError.
    """

    def __init__(self, memory: Memory, origin: str = PERSON, *, keeps_status: bool = False) -> None:
        """origin: the author of new questions; keeps_status: the status is left out of the text."""
        self._command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or _usual_editor()
        self._keeps_status = keeps_status
        self._memory = memory
        self._origin = origin
        home = context.home()
        make_private_folder(home.edits)
        try:
            self._folder = tempfile.mkdtemp(prefix=f"{memory.id}-", dir=home.edits)
            self._path = os.path.join(self._folder, f"{memory.id}.md")
            create_private_file(self._path)
            with open(self._path, "w", encoding="utf-8", newline="") as file:
                file.write(_editor_text(memory, keeps_status=keeps_status))
        except OSError as error:
            raise UsageError(
                f"no file to edit can be made in {home.edits}: {error.strerror}", "check its permissions and the disk"
            ) from error

    def __enter__(self) -> dict[str, object]:
        try:
            done = subprocess.run([*_split_command(self._command, is_windows=os.name == "nt"), self._path], check=False)
            if done.returncode:
                raise UsageError(f"the editor ended with {done.returncode}", "nothing was changed")
        except (OSError, ValueError) as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise UsageError(f"the editor {self._command!r} cannot be started: {error}", "set EDITOR") from error
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        try:
            with open(self._path, encoding="utf-8-sig", newline="") as file:
                return _read_changes(file.read(), self._memory, self._origin, keeps_status=self._keeps_status)
        except UnicodeDecodeError as error:
            raise InvalidMemory(f"the editor has not written UTF-8 at byte {error.start}", self._kept_hint) from error
        except InvalidMemory as error:
            raise InvalidMemory(error.message, self._kept_hint) from error
        except OSError as error:
            raise UsageError(f"{self._path} is gone: {error.strerror}", "nothing was changed") from error

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, SubcogError):
            hint = f"{error.hint}; {self._kept_hint}" if error.hint else self._kept_hint
            raise type(error)(error.message, hint) from error
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def _kept_hint(self) -> str:
        return f"nothing was changed; what you wrote is in {self._path}"


def _usual_editor() -> str:
    """Return the editor of every machine. Raises UsageError where nobody can type into it."""
    if not terminal.interactive:
        raise UsageError("no editor is set, and no terminal is there", "give options, or set EDITOR")
    return "notepad" if os.name == "nt" else "vi"


def _split_command(command: str, *, is_windows: bool) -> list[str]:
    """Return the words of a command line. Windows runs `code.cmd` only by its whole path.

    >>> _split_command(r'"C:\\Program Files\\Ed\\ed.exe" --wait', is_windows=True)
    ['C:\\\\Program Files\\\\Ed\\\\ed.exe', '--wait']
    """
    program, *arguments = shlex.split(command, posix=not is_windows)
    if is_windows:
        program, *arguments = (word.strip('"') for word in (program, *arguments))
    return [shutil.which(program) or program, *arguments]


def find_edit_folders(home: Home) -> list[str]:
    """Return the folders of texts that are being edited, or that a failed edit has left."""
    try:
        return [os.path.join(home.edits, name) for name in sorted(os.listdir(home.edits))]
    except OSError:
        return []


def remove_edits(home: Home, ids: Iterable[str]) -> None:
    """Remove the edited texts of these memories. Raises StoreError."""
    name_pattern = re.compile(f"({'|'.join(map(re.escape, ids))})-[a-z0-9_]{{8}}")
    for folder in find_edit_folders(home):
        if name_pattern.fullmatch(os.path.basename(folder)):
            try:
                shutil.rmtree(folder)
            except OSError as error:
                raise StoreError(f"{folder} cannot be removed: {error.strerror}", "delete it") from error


def form_fields(memory: Memory) -> dict[str, str]:
    """Return the fields of a memory that a form edits, beside its text and status; an entry a line."""
    lists = {name: "\n".join(entries) for name, entries in _entries(memory).items()}
    return {**_fields(memory, keeps_status=True), **lists}


def read_form(fields: Mapping[str, str], content: str, memory: Memory) -> dict[str, object]:
    """Return the changed fields of a form, by the rules of the editor's text. Raises InvalidMemory."""
    lines = [f"{name}: {line}" for name, text in fields.items() for line in text.split("\n")]
    return _read_changes("\n".join([*lines, _DASHES, content]) + "\n", memory, PERSON, keeps_status=True)


def _fields(memory: Memory, *, keeps_status: bool) -> dict[str, str]:
    lists = {name: ", ".join(map(_one_line_entry, getattr(memory, name))) for name in _JOINED}
    standing = next(word for word, value in _STANDING.items() if value is memory.standing)
    numbers = {"priority": str(memory.priority), "standing": standing}
    status = {} if keeps_status else {"status": memory.status}
    return {"namespace": memory.namespace, **status, **numbers, **lists}


def _entries(memory: Memory) -> dict[str, list[str]]:
    return {
        "trigger": list(map(_one_line_entry, memory.triggers)),
        "path": list(map(_one_line_entry, memory.paths)),
        "when": list(map(_one_line_entry, inputs.condition_texts(memory.when))),
        "question": [question.text for question in memory.questions],
    }


def _one_line_entry(entry: str) -> str:
    return entry.strip() if entry.isprintable() else " ".join(entry.split())


def _editor_text(memory: Memory, *, keeps_status: bool) -> str:
    fields = [f"{name}: {value}" for name, value in _fields(memory, keeps_status=keeps_status).items()]
    fields += [f"{name}: {entry}" for name, entries in _entries(memory).items() for entry in entries or [""]]
    return "\n".join([_HEADER, *fields, _DASHES, memory.content]) + "\n"


def _read_changes(text: str, memory: Memory, origin: str, *, keeps_status: bool) -> dict[str, object]:
    if "\r\n" not in memory.content:
        text = text.replace("\r\n", "\n")  # The editor wrote line ends of its own.
    head, dashes, content = text.replace(f"\n{_DASHES}\r\n", f"\n{_DASHES}\n").partition(f"\n{_DASHES}\n")
    if not dashes:
        raise InvalidMemory("the line of dashes is gone")
    before, entries_before = _fields(memory, keeps_status=keeps_status), _entries(memory)
    entries: dict[str, list[str]] = {name: [] for name in _REPEATED}
    changes: dict[str, object] = {}
    for line in head.split("\n"):
        name, colon, value = (part.strip() for part in line.partition(":"))
        if line.startswith("#") or not line.strip():
            continue
        if not colon or name not in (*before, *entries):
            raise InvalidMemory(f"{name!r} is not a field that can be edited here")
        if name in entries:
            entries[name] += [value] if value else []
        elif value != before[name]:
            changes[name] = _parse_field(name, value)
    for name, lines in entries.items():
        if lines != entries_before[name]:
            changes[_REPEATED[name]] = _parse_entries(name, lines, memory, origin)
    if content.strip() and content.removesuffix("\n") not in (memory.content, memory.content.replace("\r\n", "\n")):
        changes["content"] = content.removesuffix("\n")
    return changes


def _parse_field(name: str, text: str) -> object:
    if name == "priority":
        if not (text.isascii() and text.isdecimal() and len(text) <= 3):
            raise InvalidMemory(f"priority is {text[:80]!r}", "expected a whole number, 0 to 100")
        return int(text)
    if name == "standing":
        if text not in _STANDING:
            raise InvalidMemory(f"standing is {text[:80]!r}", "expected yes, no, or nothing where its text is to tell")
        return _STANDING[text]
    return tuple(dict.fromkeys(filter(None, map(str.strip, text.split(","))))) if name in _JOINED else text


def _parse_entries(name: str, lines: list[str], memory: Memory, origin: str) -> object:
    if name == "when":
        return condition_checks.parse_conditions(lines)
    if name == "question":
        return questions.questions_by(lines, origin, memory.questions)
    return _restore_entries(lines, getattr(memory, _REPEATED[name]))


def _restore_entries(lines: list[str], before: tuple[str, ...]) -> tuple[str, ...]:
    """Return the entries of these lines; an unchanged line gives the entry as it was stored."""
    stored = {_one_line_entry(entry): entry for entry in reversed(before)}
    return tuple(dict.fromkeys(stored.get(line, line) for line in lines))
