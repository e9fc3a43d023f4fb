"""The simple commands of a shell's text, also those in substitutions, here-documents and `bash -c`. Pure.

It serves the stops: it never fails, and rather finds a command too many than too few.
"""

from __future__ import annotations

from subcog_hooks.text.familiar_names import LEADS, WRAPPERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_DEPTH = 20  # nested substitutions and shells
MAX_RUN = 64  # words of a runner's command at which another command may begin
SHELLS = frozenset("bash sh zsh dash ksh fish cmd powershell pwsh".split())
# Programs that run a command given to them.
RUNNERS = (
    SHELLS
    | WRAPPERS
    | frozenset(
        "eval ssh su watch parallel find fd docker podman kubectl npx bunx uv poetry pipenv bundle pdm hatch direnv nix "
        "setsid script strace flock ionice stdbuf chroot runuser caffeinate entr op doppler coproc function "
        "nix-shell screen systemd-run tmux trap".split()
    )
)
# Programs that run one only behind certain words.
_LAUNCHERS, _LAUNCHING = frozenset("asdf bun mise npm pnpm pyenv rbenv yarn".split()), frozenset("dlx exec x".split())
# Programs that start a command behind certain words alone, and programs with an argument before their command.
_STARTING = frozenset("find fd docker podman kubectl uv poetry pipenv bundle pdm hatch tmux screen op doppler".split())
_STARTS = frozenset("run exec -exec -execdir -ok -okdir -x -X".split())
_WITH_ARGUMENT = frozenset("flock chroot su ssh runuser docker podman kubectl".split())
_READERS = SHELLS | {"ssh"}  # They run the here-documents that they read.
# In "…" and $'…' a backslash and one of these characters stand for another text.
_ESCAPES = {
    '"': {"\n": "", "$": "$", "`": "`", '"': '"', "\\": "\\"},
    "'": {"n": "\n", "r": "\r", "t": "\t", "'": "'", '"': '"', "\\": "\\"},
}
_QUOTING = frozenset("'\"\\")
_BLANKS, _SEPARATORS = " \t\r", "\n;|&()"


def find_commands(text: str, *, is_certain: bool = False) -> list[list[str]]:
    """Return the words of each simple command, without assignments before it. A runner's command is there by itself, too.

    is_certain: of a runner's words only those that begin its command, as far as that is known; else each that could.

    >>> find_commands("cd web && A=1 git -C 'a b' push >log; echo $(date)")
    [['cd', 'web'], ['git', '-C', 'a b', 'push'], ['date'], ['echo', '']]
    >>> find_commands("bash -c 'git push'")
    [['bash', '-c', 'git push'], ['git push'], ['git', 'push']]
    """
    return _find_nested(text, 0, is_certain)


def _find_nested(text: str, depth: int, is_certain: bool) -> list[list[str]]:
    reader = _Reader(text, 0, depth, {}, is_certain)
    reader.read()
    return reader.commands


class _Reader:
    """A pass over a text from `position` on. commands: found so far; starts: see `_start_of_last`."""

    __slots__ = (
        *("_before_documents", "_depth", "_documents", "_is_certain", "_redirection", "_starts", "_strings", "_text", "_word"),
        *("_words", "commands", "position"),
    )

    def __init__(self, text: str, position: int, depth: int, starts: dict[str, int], is_certain: bool) -> None:
        self.commands: list[list[str]] = []
        self.position = position
        self._text = text
        self._depth = depth
        self._starts = starts
        self._is_certain = is_certain
        self._word: list[str] | None = None  # None between words, since '' is a word
        self._words: list[str] = []
        self._redirection = ""  # The next word belongs to it.
        self._strings: list[str] = []  # the here-strings of the command
        # Here-documents that begin with the next line: the last line of each, and whether the shell expands it.
        self._documents: list[tuple[str, bool]] = []
        self._before_documents = 0  # commands before the first of them

    def read(self, closing: str = "") -> None:
        """Read until the text's end, or behind the character `closing`."""
        text = self._text
        while self.position < len(text):
            character = text[self.position]
            self.position += 1
            if character == closing:
                break
            if character in _BLANKS:
                self._end_word()
            elif character in _SEPARATORS:
                self._end_command()
                if character == "\n":
                    self._skip_documents()
            elif character in "<>":
                self._begin_redirection()
            elif character == "#" and self._word is None:
                self.position = _find_or_end(text, "\n", self.position)
            else:
                self._add_character(character)
        self._end_command()

    def _add_character(self, character: str) -> None:
        """Add a character outside of quotes to the word, or a text that it begins."""
        if character == "\\":
            if not self._text.startswith("\n", self.position):
                self._add(self._text[self.position : self.position + 1])
            self.position += 1
        elif character == "'":
            end = _find_or_end(self._text, "'", self.position)
            self._add(self._text[self.position : end])
            self.position = end + 1
        elif character == '"' or (character == "$" and self._text.startswith(("'", '"'), self.position)):
            if character == "$":
                character = self._text[self.position]
                self.position += 1
            self._read_quoted(character)
        elif not self._begins_substitution(character):
            self._add(character)

    def _read_quoted(self, closing: str) -> None:
        """Read the rest of a text in "…" or $'…'."""
        text = self._text
        self._add("")
        while self.position < len(text):
            character = text[self.position]
            self.position += 1
            if character == closing:
                return
            if character == "\\":
                escaped = text[self.position : self.position + 1]
                self._add(_ESCAPES[closing].get(escaped, character + escaped))
                self.position += 1
            elif closing == "'" or not self._begins_substitution(character):
                self._add(character)

    def _begins_substitution(self, character: str) -> bool:
        """Read the substitution that begins here. Return whether there is one."""
        if self._depth >= MAX_DEPTH:
            return False
        if character == "`":
            end = _find_or_end(self._text, "`", self.position)
            self.commands += _find_nested(self._text[self.position : end], self._depth + 1, self._is_certain)
            self.position = end + 1
        elif character == "$" and self._text.startswith("(", self.position):
            nested = _Reader(self._text, self.position + 1, self._depth + 1, self._starts, self._is_certain)
            nested.read(")")
            self.commands += nested.commands
            self.position = nested.position
        else:
            return False
        self._add("")
        return True

    def _begin_redirection(self) -> None:
        if self._word is not None and "".join(self._word).isdecimal():
            self._word = None  # the number of a stream
        self._end_word()
        start = self.position - 1
        while self._text[self.position : self.position + 1] in ("<", ">", "&", "|"):
            self.position += 1
        self._redirection = self._text[start : self.position]
        if self._redirection == "<<":
            line = self._text[self.position : _find_or_end(self._text, "\n", self.position)]
            words = line.removeprefix("-").split(None, 1)
            self._before_documents = self._before_documents if self._documents else len(self.commands)
            if words:
                last_line = "".join(letter for letter in words[0] if letter not in "'\"\\;|&()")
                self._documents.append((last_line, _QUOTING.isdisjoint(words[0])))

    def _skip_documents(self) -> None:
        """Skip the here-documents that begin here, since they are no commands. A shell on their line runs them."""
        if not self._documents:
            return
        are_run = any(program_name(words[0]) in _READERS for words in self.commands[self._before_documents :])
        for last_line, is_expanded in self._documents:
            if self._start_of_last(last_line) < self.position:
                continue
            start = end = self.position
            while self._text[end : (line_end := _find_or_end(self._text, "\n", end))].strip() != last_line:
                end = line_end + 1
            self.position = line_end + 1
            if are_run and self._depth < MAX_DEPTH:
                self.commands += _find_nested(self._text[start:end], self._depth + 1, self._is_certain)
            elif is_expanded:
                self.commands += _Reader(self._text[start:end], 0, self._depth, {}, self._is_certain).read_substitutions()
        self._documents = []

    def read_substitutions(self) -> list[list[str]]:
        """Return the commands in the substitutions of a text, which a shell runs to expand it."""
        while self.position < len(self._text):
            character = self._text[self.position]
            self.position += 2 if character == "\\" else 1
            self._begins_substitution(character)
        return self.commands

    def _start_of_last(self, line: str) -> int:
        """Return where the last line of the text with these words starts, -1 without one. All starts are found at once."""
        if not self._starts:
            start = 0
            for text in self._text.split("\n"):
                self._starts[text.strip()] = start
                start += len(text) + 1
        return self._starts.get(line, -1)

    def _add(self, text: str) -> None:
        if self._word is None:
            self._word = []
        self._word.append(text)

    def _end_word(self) -> None:
        if self._word is None:
            return
        if not self._redirection:
            self._words.append("".join(self._word))
        elif self._redirection == "<<<":
            self._strings.append("".join(self._word))
        self._redirection, self._word = "", None

    def _end_command(self) -> None:
        self._end_word()
        words, strings = _without_leads(self._words), self._strings
        self._words, self._strings, self._redirection = [], [], ""
        if words:
            self.commands.append(words)
            if self._depth < MAX_DEPTH and _is_runner(words):
                self.commands += _commands_of_runner([*words, *strings], self._depth, self._is_certain)


def _is_runner(words: Sequence[str]) -> bool:
    program = program_name(words[0])
    return program in RUNNERS or (program in _LAUNCHERS and not _LAUNCHING.isdisjoint(words))


def _commands_of_runner(words: Sequence[str], depth: int, is_certain: bool) -> Iterator[list[str]]:
    """Yield the commands that may begin among a runner's words, and those in a word that is a text of commands."""
    program = program_name(words[0])
    begins = not (is_certain and program in _STARTING)
    left = (2 if program in _WITH_ARGUMENT else 1) if is_certain else MAX_RUN
    for index, word in enumerate(words[1:MAX_RUN], 1):
        may_begin = begins and left and not word.startswith("-") and not (is_certain and word[:1].isdigit())
        if may_begin and (command := _without_leads(words[index:])):
            left -= 1
            yield command
        begins = begins or word in _STARTS
        if any(sign in word for sign in " \n;|&("):
            yield from _find_nested(word, depth + 1, is_certain)


def _without_leads(words: Sequence[str]) -> list[str]:
    """Return a command without words such as `then` and assignments before it."""
    start = 0
    while start < len(words) and (words[start] in LEADS or _is_assignment(words[start])):
        start += 1
    return list(words[start:])


def _is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.removesuffix("+").partition("[")[0].isidentifier()


def program_name(word: str) -> str:
    """Return the name of a program without its folder.

    >>> program_name("/usr/bin/git"), program_name(r"C:\\Git\\Git.exe")
    ('git', 'git')
    """
    return word.replace("\\", "/").rpartition("/")[2].lower().removesuffix(".exe")


def _find_or_end(text: str, sign: str, start: int) -> int:
    position = text.find(sign, start)
    return position if position >= 0 else len(text)
