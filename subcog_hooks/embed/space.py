"""An embedding space: a model and its files. `models` lists the spaces."""

import os

from subcog_hooks.core.records import record
from subcog_hooks.embed import static_encoder


@record
class Space:
    """An embedding space: a model and its folder. Only vectors of one space can be compared.

    name: also of its files; model: in fastembed's catalogue; dimension: of its vectors; folder: of its files.
    """

    name: str
    model: str
    dimension: int
    folder: str

    @property
    def is_packaged(self) -> bool:
        return self.name == static_encoder.SPACE

    @property
    def remedy(self) -> str:
        """The advice for broken files of the space."""
        return "reinstall subcog" if self.is_packaged else f"`subcog models remove {self.name}`, then pull it again"

    def answers_to(self, name: str) -> bool:
        """Return whether a user's name means this space."""
        return name.lower() in (self.name, self.model.lower())


PACKAGED = Space(
    static_encoder.SPACE,
    "sentence-transformers/all-MiniLM-L6-v2",
    384,
    os.path.join(os.path.dirname(os.path.abspath(__file__)), "minilm"),
)
