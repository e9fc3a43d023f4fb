"""The simple commands of a shell's text, also in substitutions and `bash -c`, and which of them only look. Never fails."""

from __future__ import annotations

from subcog_hooks.core.files import read_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_COMMAND = 4_000  # characters of a command that are read
MAX_DEPTH = 20  # nested substitutions and shells
MAX_RUN = 64  # words of a runner's command that are read
RUNNERS = frozenset(  # programs that run a command given to them
    "bash sh zsh dash ksh fish cmd powershell pwsh builtin command doas env exec nice nohup sudo time timeout xargs eval ssh "
    "su watch parallel find fd docker podman kubectl npx bunx uv poetry pipenv bundle pdm hatch direnv nix setsid script "
    "strace flock ionice stdbuf chroot runuser caffeinate entr op doppler coproc function nix-shell screen systemd-run tmux "
    "trap".split()
)
_LEADS = frozenset("! do elif else if then until while {".split())  # keywords before a command
# Programs that run one only behind certain words.
_LAUNCHERS, _LAUNCHING = frozenset("asdf bun mise npm pnpm pyenv rbenv yarn".split()), frozenset("dlx exec x".split())
# Programs that start a command behind certain words alone, and programs with an argument before their command.
_STARTING = frozenset("find fd docker podman kubectl uv poetry pipenv bundle pdm hatch tmux screen op doppler".split())
_STARTS = frozenset("run exec -exec -execdir -ok -okdir -x -X".split())
_WITH_ARGUMENT = frozenset("flock chroot su ssh runuser docker podman kubectl".split())
_BLANKS, _SEPARATORS = " \t\r", "\n;|&()"


def find_commands(text: str, depth: int = 0) -> list[list[str]]:
    """Return the words of each simple command, without assignments before it. A runner's command is there by itself, too.

    depth: of the text in other commands. Of a long text the beginning is read.

    >>> find_commands("cd web && A=1 git -C 'a b' push >log; echo $(date)")
    [['cd', 'web'], ['git', '-C', 'a b', 'push'], ['date'], ['echo', '']]
    >>> find_commands("bash -c 'git push'")
    [['bash', '-c', 'git push'], ['git push'], ['git', 'push']]
    """
    reader = _Reader(text[:MAX_COMMAND], 0, depth)
    reader.read()
    return reader.commands


class _Reader:
    """A pass over a text from `position` on. commands: found so far."""

    def __init__(self, text: str, position: int, depth: int) -> None:
        self.commands: list[list[str]] = []
        self.position = position
        self._text = text
        self._depth = depth
        self._word: list[str] | None = None  # None between words, since '' is a word
        self._words: list[str] = []
        self._is_redirected = False  # The next word belongs to a redirection.
        self._documents: list[str] = []  # the last lines of the here-documents that begin with the next line

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
                self._add(text[self.position : self.position + 1].strip("\n"))
                self.position += 1
            elif closing == "'" or not self._begins_substitution(character):
                self._add(character)

    def _begins_substitution(self, character: str) -> bool:
        """Read the substitution that begins here. Return whether there is one."""
        if self._depth >= MAX_DEPTH:
            return False
        if character == "`":
            end = _find_or_end(self._text, "`", self.position)
            self.commands += find_commands(self._text[self.position : end], self._depth + 1)
            self.position = end + 1
        elif character == "$" and self._text.startswith("(", self.position):
            nested = _Reader(self._text, self.position + 1, self._depth + 1)
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
        self._is_redirected = True
        if self._text[start : self.position] == "<<":
            line = self._text[self.position : _find_or_end(self._text, "\n", self.position)]
            word = line.removeprefix("-").lstrip().partition(" ")[0]
            self._documents.append("".join(letter for letter in word if letter not in "'\"\\;|&()"))

    def _skip_documents(self) -> None:
        """Skip the here-documents that begin here, since they are no commands."""
        for last_line in self._documents:
            start = self._text.find(f"\n{last_line}", self.position - 1)
            if start >= 0:
                self.position = _find_or_end(self._text, "\n", start + 1) + 1
        self._documents = []

    def _add(self, text: str) -> None:
        if self._word is None:
            self._word = []
        self._word.append(text)

    def _end_word(self) -> None:
        if self._word is None:
            return
        if not self._is_redirected:
            self._words.append("".join(self._word))
        self._is_redirected, self._word = False, None

    def _end_command(self) -> None:
        self._end_word()
        words = _without_leads(self._words)
        self._words, self._is_redirected = [], False
        if words:
            self.commands.append(words)
            if self._depth < MAX_DEPTH:
                self.commands += _commands_of_runner(words, self._depth)


def _commands_of_runner(words: Sequence[str], depth: int) -> Iterator[list[str]]:
    """Yield the commands that begin among a runner's words, and those in a word that is a text of commands."""
    program = program_name(words[0])
    if program not in RUNNERS and (program not in _LAUNCHERS or _LAUNCHING.isdisjoint(words)):
        return
    begins, left = program not in _STARTING, 2 if program in _WITH_ARGUMENT else 1
    for index, word in enumerate(words[1:MAX_RUN], 1):
        may_begin = begins and left and not word.startswith("-") and not word[:1].isdigit()
        if may_begin and (command := _without_leads(words[index:])):
            left -= 1
            yield command
        begins = begins or word in _STARTS
        if any(sign in word for sign in " \n;|&("):
            yield from find_commands(word, depth + 1)


def _without_leads(words: Sequence[str]) -> list[str]:
    """Return a command without words such as `then` and assignments before it."""
    start = 0
    for word in words:
        name, equals, _ = word.partition("=")
        is_assignment = equals and name.removesuffix("+").partition("[")[0].isidentifier()
        if word not in _LEADS and not is_assignment:
            break
        start += 1
    return list(words[start:])


def program_name(word: str) -> str:
    """Return the name of a program without its folder.

    >>> program_name("/usr/bin/git"), program_name(r"C:\\Git\\Git.exe")
    ('git', 'git')
    """
    return word.replace("\\", "/").rpartition("/")[2].lower().removesuffix(".exe")


def _find_or_end(text: str, sign: str, start: int) -> int:
    position = text.find(sign, start)
    return position if position >= 0 else len(text)


_WRITING = frozenset(("--in-place", "--fix", "--write", "--update", "--snapshot-update", "--delete", "-D", "-X"))
_LEADING = frozenset(("sudo", "time", "command", "npx", "bunx", "env"))
_MAX_WORDS = 12  # words of a command that are read
_LOOKING = {program: frozenset(" ".join(words).split()) for program, *words in read_rows(__file__, "looking_commands.tsv")}


def only_looks(command: str) -> bool:
    """Return whether every part of a shell command only looks; an unknown program may do anything.

    >>> only_looks("cd web && git log --oneline -5 | head"), only_looks("kubectl -n jobs logs worker-1")
    (True, True)
    >>> only_looks("git push"), only_looks("cat notes >> plan.md"), only_looks("./deploy.sh"), only_looks("eslint --fix src")
    (False, False, False, False)
    """
    return all(map(_part_looks, commands_of(command)))


def commands_of(command: str) -> Iterator[str]:
    """Yield the commands of one or several lines, with dots in place of quoted texts, so that no sign in them counts.

    They stand between `&&`, `||`, `;`, `|` and line breaks outside of quotes. Of a long text the beginning is read.
    """
    command = command[:MAX_COMMAND]
    pieces: list[str] = []
    quote = ""
    start = 0
    while ends := [position for position in (command.find(sign, start) for sign in (quote or "\"'")) if position >= 0]:
        pieces.append("." if quote else command[start : min(ends)])
        quote = "" if quote else command[min(ends)]
        start = min(ends) + 1
    command = "".join(pieces) + ("" if quote else command[start:])
    for sign in ("|", ";", "&"):
        command = command.replace(sign, "\n")
    for line in command.replace("\\\n", " ").split("\n"):
        if line and not line.isspace():
            yield line


def _part_looks(part: str) -> bool:
    words = part.split(None, _MAX_WORDS)[:_MAX_WORDS]
    while words and (words[0] in _LEADING or ("=" in words[0] and words[0].partition("=")[0].isidentifier())):
        del words[0]
    if not words:
        return True
    if not _WRITING.isdisjoint(words) or any(">" in word and not word.endswith(("/dev/null", "&1", ">")) for word in words):
        return False
    if not {">", ">>"}.isdisjoint(words) and "/dev/null" not in words:
        return False
    program, *rest = words
    allowed = _LOOKING.get(program.rpartition("/")[2])
    if not allowed:
        return allowed is not None
    arguments = [word.rpartition(":")[2] or word for word in rest if not word.startswith("-")]
    pairs = zip(arguments[:3], [*arguments[1:3], "", ""], strict=False)
    return not arguments or any(first in allowed or f"{first}-{second}" in allowed for first, second in pairs)
