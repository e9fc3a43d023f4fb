"""An embedding space: a model, and where its files lie. Which there are is told by `models`."""

import os

from subcog_hooks.embed import static


class Space:
    """An embedding space: a model and where it lies. Vectors of one space can be compared, of two never.

    name: safe as a file's; model: as fastembed calls it; dimension: of its vectors; folder: of its files.
    """

    __slots__ = ("dimension", "folder", "model", "name")

    def __init__(self, name: str, model: str, dimension: int, folder: str) -> None:
        self.name = name
        self.model = model
        self.dimension = dimension
        self.folder = folder

    @property
    def is_packaged(self) -> bool:
        return self.name == static.SPACE

    @property
    def remedy(self) -> str:
        """The advice for when the files of the space do not work."""
        return "reinstall subcog" if self.is_packaged else f"`subcog models remove {self.name}`, then pull it again"

    def answers_to(self, name: str) -> bool:
        """Return whether a user means this space by `name`."""
        return name.lower() in (self.name, self.model.lower())


PACKAGED = Space(
    static.SPACE,
    "sentence-transformers/all-MiniLM-L6-v2",
    384,
    os.path.join(os.path.dirname(os.path.abspath(__file__)), "minilm"),
)
