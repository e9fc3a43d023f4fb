"""A memory as a text to be edited in $EDITOR, and what of it the user has changed."""

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterable

from subcog_hooks.cli.support import condition_inputs, context
from subcog_hooks.core.errors import InvalidMemory, StoreError, SubcogError, UsageError
from subcog_hooks.core.paths import Home, create_private_file, make_private_folder
from subcog_hooks.store import questions
from subcog_hooks.store.memory import PERSON, Memory

_HEADER = """\
# Fields above the dashes may be changed, the text is below them. An empty text changes nothing.
# Each trigger, path, condition and question has a line of its own: add lines, or take some away."""
_DASHES = "---"
_JOINED = ("tags", "keywords")  # in one line
_STANDING = {"yes": True, "no": False, "": None}  # the last: its text tells
_REPEATED = {
    "trigger": "triggers",
    "path": "paths",
    "when": "when",
    "question": "questions",
}  # a line each: they may have commas in them


class Editor:
    """$EDITOR on a memory; entered, it gives what the user changed, by field.

    The file lies in a folder of its own in the home, beside which editors put copies of theirs. It is removed when all went
    well; when anything failed, the user is told where it is. Raises UsageError, StoreError.
    """

    __slots__ = ("_folder", "_keeps_status", "_memory", "_origin", "_path")

    def __init__(self, memory: Memory, origin: str = PERSON, *, keeps_status: bool = False) -> None:
        """origin: who puts the questions that are new; keeps_status: it is not to be edited."""
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
                file.write(_written(memory, keeps_status=keeps_status))
        except OSError as error:
            raise UsageError(
                f"no file to edit can be made in {home.edits}: {error.strerror}", "check its permissions and the disk"
            ) from error

    def __enter__(self) -> dict[str, object]:
        command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ("notepad" if os.name == "nt" else "vi")
        try:
            done = subprocess.run([*shlex.split(command, posix=os.name != "nt"), self._path], check=False)
            if done.returncode:
                raise UsageError(f"the editor ended with {done.returncode}", "nothing was changed")
        except (OSError, ValueError) as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise UsageError(f"the editor {command!r} can not be started: {error}", "set EDITOR") from error
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        try:
            with open(self._path, encoding="utf-8-sig", newline="") as file:
                return _read_changes(file.read(), self._memory, self._origin, keeps_status=self._keeps_status)
        except UnicodeDecodeError as error:
            raise InvalidMemory(f"the editor has not written UTF-8 at byte {error.start}", self._kept) from error
        except InvalidMemory as error:
            raise InvalidMemory(error.message, self._kept) from error
        except OSError as error:
            raise UsageError(f"{self._path} is gone: {error.strerror}", "nothing was changed") from error

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, SubcogError):
            hint = f"{error.hint}; {self._kept}" if error.hint else self._kept
            raise type(error)(error.message, hint) from error
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def _kept(self) -> str:
        return f"nothing was changed; what you wrote is in {self._path}"


def find_left(home: Home) -> list[str]:
    """Return the folders of texts that are being edited, or that an edit which failed has left."""
    try:
        return [os.path.join(home.edits, name) for name in sorted(os.listdir(home.edits))]
    except OSError:
        return []


def remove_left(home: Home, ids: Iterable[str]) -> None:
    """Remove the texts of memories that are being edited, or were left. Raises StoreError."""
    of_these = re.compile(f"({'|'.join(map(re.escape, ids))})-[a-z0-9_]{{8}}")
    for folder in find_left(home):
        if of_these.fullmatch(os.path.basename(folder)):
            try:
                shutil.rmtree(folder)
            except OSError as error:
                raise StoreError(f"{folder} cannot be removed: {error.strerror}", "delete it") from error


def _fields(memory: Memory, *, keeps_status: bool) -> dict[str, str]:
    """Return the fields of one line each, as they are written there."""
    lists = {name: ", ".join(map(_line, getattr(memory, name))) for name in _JOINED}
    numbers = {"priority": str(memory.priority), "standing": _said(memory)}
    status = {} if keeps_status else {"status": memory.status}
    return {"namespace": memory.namespace, **status, **numbers, **lists}


def _said(memory: Memory) -> str:
    return next(word for word, said in _STANDING.items() if said is memory.standing)


def _entries(memory: Memory) -> dict[str, list[str]]:
    """Return the fields of a line for each entry, as they are written there."""
    when = list(map(_line, condition_inputs.written(memory.when)))
    return {
        "trigger": list(map(_line, memory.triggers)),
        "path": list(map(_line, memory.paths)),
        "when": when,
        "question": [one.text for one in memory.questions],
    }


def _line(entry: str) -> str:
    return entry.strip() if entry.isprintable() else " ".join(entry.split())


def _written(memory: Memory, *, keeps_status: bool) -> str:
    fields = [f"{name}: {value}" for name, value in _fields(memory, keeps_status=keeps_status).items()]
    fields += [f"{name}: {entry}" for name, entries in _entries(memory).items() for entry in entries or [""]]
    return "\n".join([_HEADER, *fields, _DASHES, memory.content]) + "\n"


def _read_changes(text: str, memory: Memory, origin: str, *, keeps_status: bool) -> dict[str, object]:
    """Return the fields that differ from what was written. Raises InvalidMemory."""
    if "\r\n" not in memory.content:
        text = text.replace("\r\n", "\n")  # the editor's own line ends
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
            changes[name] = _value(name, value)
    for name, given in entries.items():
        if given != entries_before[name]:
            changes[_REPEATED[name]] = _values(name, given, memory, origin)
    if content.strip() and content.removesuffix("\n") not in (memory.content, memory.content.replace("\r\n", "\n")):
        changes["content"] = content.removesuffix("\n")
    return changes


def _value(name: str, text: str) -> object:
    if name == "priority":
        if not (text.isascii() and text.isdecimal() and len(text) <= 3):
            raise InvalidMemory(f"priority is {text[:80]!r}", "expected a whole number, 0 to 100")
        return int(text)
    if name == "standing":
        if text not in _STANDING:
            raise InvalidMemory(f"standing is {text[:80]!r}", "expected yes, no, or nothing where its text is to tell")
        return _STANDING[text]
    return tuple(dict.fromkeys(filter(None, map(str.strip, text.split(","))))) if name in _JOINED else text


def _values(name: str, given: list[str], memory: Memory, origin: str) -> object:
    """Return what these lines of a repeated field stand for. origin: who puts the questions that are new."""
    if name == "when":
        return condition_inputs.read(given)
    if name == "question":
        return questions.put_by(given, origin, memory.questions)
    return _kept_as_they_were(given, getattr(memory, _REPEATED[name]))


def _kept_as_they_were(given: list[str], before: tuple[str, ...]) -> tuple[str, ...]:
    """Return the entries of these lines: where a line is as it was written, the entry that it was written for."""
    stored = {_line(entry): entry for entry in reversed(before)}
    return tuple(dict.fromkeys(stored.get(line, line) for line in given))
