"""The values of an import: how it is to be done, what became of it, and what was not taken. No reading or writing here."""

from collections import Counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.capture.compose import Removed


class Problem:
    """Something in the source that was not taken, with its place.

    is_entry: it is a trigger or a path, and the rest of its line was taken.
    """

    __slots__ = ("is_entry", "message", "place")

    def __init__(self, place: str, message: str, *, is_entry: bool = False) -> None:
        self.place = place
        self.message = message
        self.is_entry = is_entry


class Report:
    """The result of an import."""

    __slots__ = (
        "added",
        "archived",
        "files",
        "hidden",
        "owners",
        "problems",
        "removed",
        "replaced",
        "set_aside",
        "skipped",
        "unknown",
        "withheld",
    )

    def __init__(self) -> None:
        self.added = 0
        self.archived = 0
        self.set_aside = 0  # of the added: what the file itself calls superseded or rejected
        self.files: set[str] = set()  # the Markdown files that were read
        self.hidden: dict[str, tuple[str, str]] = {}  # by file: the title and status of what is hidden from now on
        self.owners: Counter[str] = Counter()
        self.replaced = 0
        self.skipped = 0
        self.problems: list[Problem] = []
        self.removed: Removed = ()
        self.unknown: set[str] = set()
        self.withheld = 0  # of the added: a file's or a colleague's word, whose cues and questions were left out


class Options:
    """The options of an import. trusted: `--trust user`; keeps_users: what the user wrote or vouched for is left as it is;
    waits: an agent imports, unasked, so that what is new or changed waits for the person.

    project, root: whose Markdown it is, and where its files are named from; names: all names of that project.
    """

    __slots__ = ("dry_run", "keeps_users", "names", "project", "replace", "root", "trusted", "waits")

    def __init__(
        self,
        *,
        project: str | None = None,
        root: str | None = None,
        names: tuple[str, ...] = (),
        trusted: bool = False,
        replace: bool = False,
        dry_run: bool = False,
        keeps_users: bool = False,
        waits: bool = False,
    ) -> None:
        self.waits = waits
        self.keeps_users = keeps_users
        self.project = project
        self.root = root
        self.names = names
        self.trusted = trusted
        self.replace = replace
        self.dry_run = dry_run
