"""Instruction files: the files that a client itself puts before the model of a session.

Each client's own module names its files, as the real clients read them: a test lets these answer prompts. Only texts are
read here, and only where a memory from such a file has been found.
"""

from __future__ import annotations

import os

from subcog_hooks.core import light_json
from subcog_hooks.core.files import leads_out, read_regular
from subcog_hooks.core.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

MAX_FILE = 512 * 1024  # bytes of a file that are read
MAX_FILES = 100  # files of a session
MAX_HOPS = 4  # imports in a row, from a file to the last imported one
_PATH_ENDINGS = ".,;:!?)'\""


@record
class Place:
    """The place of a session.

    folder: where it began; root: of its worktree, the folder itself outside of any; main: the root of the main worktree;
    touched: the folder of the file that a tool call is about, "" for none.
    """

    folder: str
    root: str
    main: str
    touched: str = ""

    def folders(self) -> list[str]:
        """Return the folders from the root to the session's."""
        return folders_between(self.root, self.folder)

    def folders_read(self) -> list[str]:
        """Return the folders from the root to the session's, then those to the file that a tool call is about."""
        return self.folders() + (folders_between(self.root, self.touched) if self.touched else [])


def folders_between(top: str, folder: str) -> list[str]:
    """Return the folders from one down to another, both included; the last alone where it lies elsewhere.

    >>> folders_between("/shop", "/shop/web/src"), folders_between("/shop", "/other")
    (['/shop', '/shop/web', '/shop/web/src'], ['/other'])
    """
    folders = [folder]
    while folders[-1] != top:
        above = os.path.dirname(folders[-1])
        if above == folders[-1]:
            return [folder]
        folders.append(above)
    return folders[::-1]


def all_files(folders: Iterable[str], names: Iterable[str]) -> list[str]:
    """Return the paths of these names in each folder."""
    return [os.path.join(folder, name) for folder in folders for name in names]


def first_files(folders: Iterable[str], names: Iterable[str]) -> list[str]:
    """Return the first existing file of these names in each folder."""
    return [path for folder in folders for path in [*filter(os.path.isfile, all_files([folder], names))][:1]]


def rule_files(
    folders: Iterable[str], below: str, ending: str, is_always: Callable[[Mapping[str, str]], bool]
) -> Iterator[str]:
    """Yield the rules in each folder's folder `below` that are in every session, by their front matter."""
    for folder in folders:
        for parent, _, names in os.walk(os.path.join(folder, below)):
            for path in [os.path.join(parent, name) for name in sorted(names) if name.endswith(ending)]:
                if is_always(front_matter(read_text(path) or "")):
                    yield path


def front_matter(text: str) -> dict[str, str]:
    """Return the fields of a text's front matter, each with the rest of its line.

    >>> front_matter('---\\napplyTo: "**"\\nalwaysApply: true\\n---\\nText: text.')
    {'applyTo': '**', 'alwaysApply': 'true'}
    """
    if not text.startswith("---\n"):
        return {}
    lines = text[4:].partition("\n---")[0].split("\n")
    return {name.strip(): value.strip().strip("\"'") for name, colon, value in (line.partition(":") for line in lines) if colon}


def read_texts(files: Iterable[str], imports_in: str = "") -> Iterator[str]:
    """Yield the texts of the existing files among these, each once, and of the files that they import by `@path`.

    imports_in: the folder that imported files lie in, "" where the client follows no imports.
    """
    queue = [(file, MAX_HOPS if imports_in else 0) for file in files]
    seen: set[str] = set()
    for file, hops in queue:  # The list grows meanwhile.
        real = os.path.realpath(file)
        text = None if real in seen or len(seen) == MAX_FILES else read_text(real)
        if text is None:
            continue
        seen.add(real)
        yield text
        for name in [word[1:].rstrip(_PATH_ENDINGS) for word in text.split() if word[0] == "@"] if hops else ():
            path = os.path.join(os.path.dirname(file), os.path.expanduser(name))
            if os.path.isfile(path) and not leads_out(path, imports_in):
                queue.append((path, hops - 1))


def read_text(path: str) -> str | None:
    """Return the first MAX_FILE bytes of a file as a text, None where it cannot be read."""
    try:
        return read_regular(path, MAX_FILE).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None


def read_settings(path: str) -> dict[str, object]:
    """Return the members of a client's settings file; none where it is unreadable or has comments."""
    try:
        settings = light_json.loads(read_text(path) or "")
    except ValueError:
        return {}
    return settings if isinstance(settings, dict) else {}


def configured_names(folders: Iterable[str]) -> list[str]:
    """Return the names of instruction files in the settings of these folders, the last that name any; [] for none."""
    names: list[str] = []
    for folder in folders:
        context = read_settings(os.path.join(folder, "settings.json")).get("context")
        value = context.get("fileName") if isinstance(context, dict) else None
        names = [name for name in (value if isinstance(value, list) else [value]) if isinstance(name, str)] or names
    return names
