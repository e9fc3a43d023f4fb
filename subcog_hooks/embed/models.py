"""The embedding models that there are: the packaged one, and those that the user has pulled. pull.py gets them."""

from __future__ import annotations

import os

from subcog_hooks.core import light_json
from subcog_hooks.core.errors import ModelError, UsageError
from subcog_hooks.core.regular_files import read_regular
from subcog_hooks.embed import static
from subcog_hooks.embed.space import PACKAGED, Space

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any  # of JSON that `pull` has written

    from subcog_hooks.core.paths import Home
    from subcog_hooks.settings.loading import Settings

DESCRIPTION = "space.json"  # in the folder of a pulled model
MAX_DESCRIPTION = 1_000_000  # bytes of it that are read; pulled models have some twenty files
PARTIAL = ".partial-"  # how folders begin that are being made or deleted
SETTING = "embedding.model"
NEEDED = ("model.onnx", "tokenizer.json", "tokenizer_config.json")  # of the packaged model
PACKAGED_CHECKSUM = "e178a7c693843015"  # checksum_of(PACKAGED.folder, NEEDED); 23 MB are not read at every command
RECIPE = 2  # raised whenever the same files give other vectors: DocumentEmbedder, passages.py, StaticEncoder


def slug(model: str) -> str:
    """Return a model's name as the name of a file.

    >>> slug("BAAI/bge-small-en-v1.5")
    'baai-bge-small-en-v1.5'
    """
    import re  # like the other two below, for those who get models: every search loads this module

    return re.sub(r"[^a-z0-9._]+", "-", model.lower()).strip("-.")


def installed(home: Home) -> list[Space]:
    """Return the spaces whose models are on this machine, the packaged one first."""
    try:
        names = sorted(os.listdir(home.models))
    except OSError:
        names = []
    pulled = (_described(os.path.join(home.models, name)) for name in names if not name.startswith(PARTIAL))
    return [PACKAGED, *(space for space in pulled if space is not None)]


def find(home: Home, name: str) -> Space:
    """Return the installed space that `name` means: its own name, or the model's. Raises ModelError.

    A pulled copy of the packaged model goes by the model's name, the packaged one by `minilm` and `default`.
    """
    if name.lower() in ("default", PACKAGED.name):
        return PACKAGED
    for space in reversed(installed(home)):
        if space.answers_to(name):
            return space
    raise ModelError(
        f"the model {name[:80]} is not installed", f"`subcog models pull {name[:80]}`, or `subcog models use default`"
    )


def find_pulled(home: Home, name: str) -> Space:
    """Return the pulled space that `name` means. Raises ModelError, UsageError for the packaged one."""
    space = find(home, name)
    if space.is_packaged:
        raise UsageError(f"{space.name} is part of subcog", "`subcog models list` shows those that can be removed")
    return space


def chosen(home: Home, settings: Settings) -> Space:
    """Return the space of terminal search: the user's, else the packaged one.

    Raises ModelError when its model is not installed.
    """
    space = find(home, str(settings[SETTING]))
    if lacking := missing(space):
        raise ModelError(f"the model {space.model} lacks {lacking[0]}", space.remedy)
    return space


def missing(space: Space) -> list[str]:
    """Return the files that are gone, or not as large as when they came. A look at the folder: nothing is read through."""
    if space.is_packaged:
        return [name for name in NEEDED if not _size(os.path.join(space.folder, name))]
    files = _description(space.folder).get("files", {})
    return [name for name, size in files.items() if _size(os.path.join(space.folder, name)) != size]


def verify(space: Space) -> None:
    """Load the model and embed a text; half a second or more. Raises ModelError."""
    from subcog_hooks.embed.documents import DocumentEmbedder  # heavy: it loads fastembed

    if lacking := missing(space):
        raise ModelError(f"{space.folder} lacks {lacking[0]}", space.remedy)
    if not any(DocumentEmbedder(space).query("the berth of the harbour")):
        raise ModelError(f"{space.model} gives vectors of nothing but zeros", space.remedy)


def altered() -> list[str]:
    """Return the packaged files that are gone or not as they were installed, for instance after a disk was full.

    Compared with the hashes that the installer has written down; a checkout has none, and nothing is found wrong there.
    """
    import base64
    import csv
    import hashlib
    from importlib import metadata  # 20 ms with its libraries, for `doctor` only

    here = os.path.dirname(PACKAGED.folder)
    try:
        installed_as = metadata.distribution("subcog")
    except metadata.PackageNotFoundError:
        return []
    wrong = []
    # its `files` leaves out, from Python 3.12 on, those that are gone
    for name, digest, _ in csv.reader((installed_as.read_text("RECORD") or "").splitlines()):
        path = os.path.abspath(str(installed_as.locate_file(name)))
        mode, _, expected = digest.partition("=")
        if not expected or not path.startswith(here + os.sep) or path.endswith(".py"):
            continue
        try:
            with open(path, "rb") as handle:
                found = hashlib.file_digest(handle, mode).digest()
        except OSError:
            found = b""
        if base64.urlsafe_b64encode(found).decode().rstrip("=") != expected:
            wrong.append(path)
    return wrong


def made_by(space: Space) -> tuple[str, str]:
    """Return the names of what makes the final vectors of a space, and of what makes the provisional ones.

    Each names files and recipe, and is "" where that is not known.

    A look at a header and a small file, so it is for every command. Vectors made by anything else are to be replaced.
    """
    if not space.is_packaged:
        checksum = _description(space.folder).get("checksum")
        return f"{checksum} {RECIPE}" if checksum else "", ""
    try:
        encoder = static.StaticEncoder.open(static.PACKAGED)
    except ModelError:  # whoever needs it is told
        return f"{PACKAGED_CHECKSUM} {RECIPE}", ""
    encoder.close()
    return f"{PACKAGED_CHECKSUM} {RECIPE}", f"{encoder.checksum:08x} {static.MAX_TOKENS} {RECIPE}"


def checksum_of(folder: str, names: Iterable[str]) -> str:
    """Return the checksum that tells these files of a folder from others of the same names. Raises OSError."""
    import hashlib  # 2 ms, where a model is pulled

    total = hashlib.sha256()
    for name in sorted(names):
        with open(os.path.join(folder, name), "rb") as file:
            total.update(f"{name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return total.hexdigest()[:16]


def size_of(space: Space) -> int:
    """Return the size of the model on disk in bytes."""
    return sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(space.folder) for name in names)


def remove(home: Home, space: Space) -> None:
    """Delete a pulled model, not its vectors; of a link to a folder the link. Raises ModelError."""
    import tempfile  # rarely, and every search loads this module

    try:
        aside = tempfile.mkdtemp(prefix=PARTIAL, dir=home.models)
        os.rename(space.folder, os.path.join(aside, "removed"))  # whoever looks sees all of it or nothing
        delete(aside)
    except OSError as error:
        raise ModelError(f"{space.folder} can not be removed: {error.strerror}", "another process may be using it") from error


def delete(path: str) -> None:
    """Delete a folder and what is in it, or a link to one. Raises OSError."""
    if os.path.islink(path):
        os.unlink(path)
    elif os.path.exists(path):
        import shutil

        shutil.rmtree(path)


def describe(space: Space, source: str) -> None:
    """Write down in its folder what a pulled model is, and what its files are. Raises OSError."""
    import json

    files = {
        os.path.relpath(path, space.folder).replace(os.sep, "/"): os.path.getsize(path)
        for folder, _, names in os.walk(space.folder)
        for path in (os.path.join(folder, name) for name in sorted(names))
    }
    checksum = checksum_of(space.folder, files)
    told = {"model": space.model, "dimension": space.dimension, "source": source, "checksum": checksum, "files": files}
    with open(os.path.join(space.folder, DESCRIPTION), "w", encoding="utf-8") as file:
        json.dump(told, file, indent=1)


def _described(folder: str) -> Space | None:
    told = _description(folder)
    model, dimension = told.get("model"), told.get("dimension")
    if not isinstance(model, str) or not isinstance(dimension, int):
        return None
    return Space(os.path.basename(folder), model, dimension, folder)


def _description(folder: str) -> dict[str, Any]:
    try:
        told = light_json.loads(read_regular(os.path.join(folder, DESCRIPTION), MAX_DESCRIPTION).decode())
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0
