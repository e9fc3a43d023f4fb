"""The installed embedding models, the spaces that memories are embedded in, and the vectors there.

A model of fastembed's catalogue is pulled, or copied from a folder with its files. All of it arrives, or nothing.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import closing, suppress

from subcog_hooks.core import light_json
from subcog_hooks.core.errors import ModelError, StoreBusy, StoreError, UsageError
from subcog_hooks.core.files import make_private_folder, read_regular
from subcog_hooks.core.quiet_imports import first_line, import_text_embedding
from subcog_hooks.core.records import record
from subcog_hooks.embed import static_encoder
from subcog_hooks.embed.layout import to_int8
from subcog_hooks.embed.multilingual_encoder import MultilingualEncoder
from subcog_hooks.embed.space import PACKAGED, Space
from subcog_hooks.embed.static_encoder import StaticEncoder
from subcog_hooks.store import vector_store
from subcog_hooks.store.home_files import ProcessLock, is_held
from subcog_hooks.store.vector_store import find_vector_files, remove_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from subcog_hooks.core.paths import Home
    from subcog_hooks.embed.static_encoder import Encode as QueryEncode
    from subcog_hooks.settings.defaults import Settings
    from subcog_hooks.store.store import Store
    from subcog_hooks.store.vector_store import Encode, Progress, VectorStore


DESCRIPTION = "space.json"  # in the folder of a pulled model
MAX_DESCRIPTION = 1_000_000  # bytes; pulled models have some twenty files
PARTIAL_PREFIX = ".partial-"  # of folders that are being made or deleted
SETTING = "embedding.model"
REQUIRED_FILES = ("model.onnx", "tokenizer.json", "tokenizer_config.json")  # files of the packaged model
PACKAGED_CHECKSUM = "e178a7c693843015"  # checksum_of(PACKAGED.folder, REQUIRED_FILES); 23 MB are not read at every command
RECIPE = 2  # raised when the same files give other vectors: DocumentEmbedder, StaticEncoder


def slug(model: str) -> str:
    """Return a model's name as a file name.

    >>> slug("BAAI/bge-small-en-v1.5")
    'baai-bge-small-en-v1.5'
    """
    import re  # loaded late, like others below: every search loads this module

    return re.sub(r"[^a-z0-9._]+", "-", model.lower()).strip("-.")


def installed_spaces(home: Home) -> list[Space]:
    """Return the spaces whose models are on this machine, the packaged one first."""
    try:
        names = sorted(os.listdir(home.models))
    except OSError:
        names = []
    spaces = [PACKAGED]
    for name in names:
        folder = os.path.join(home.models, name)
        description = {} if name.startswith(PARTIAL_PREFIX) else _read_description(folder)
        model, dimension = description.get("model"), description.get("dimension")
        if isinstance(model, str) and isinstance(dimension, int):
            spaces.append(Space(name, model, dimension, folder))
    return spaces


def find_space(home: Home, name: str) -> Space:
    """Return the installed space of a name: its own, or its model's. Raises ModelError.

    A pulled copy of the packaged model goes by the model's name, the packaged one by `minilm` and `default`.
    """
    if name.lower() in ("default", PACKAGED.name):
        return PACKAGED
    for space in reversed(installed_spaces(home)):
        if space.answers_to(name):
            return space
    raise ModelError(
        f"the model {name[:80]} is not installed", f"`subcog models pull {name[:80]}`, or `subcog models use default`"
    )


def chosen_space(home: Home, settings: Settings) -> Space:
    """Return the user's space of terminal search, else the packaged one. Raises ModelError when its model is missing."""
    space = find_space(home, str(settings[SETTING]))
    if lacking := missing_files(space):
        raise ModelError(f"the model {space.model} lacks {lacking[0]}", space.remedy)
    return space


def missing_files(space: Space) -> list[str]:
    """Return the model's files that are missing or have another size than at their installation. No file is read."""
    if space.is_packaged:
        return [name for name in REQUIRED_FILES if not _file_size(os.path.join(space.folder, name))]
    files = _read_description(space.folder).get("files")
    if not isinstance(files, dict):
        return [DESCRIPTION]
    return [name for name, size in files.items() if _file_size(os.path.join(space.folder, name)) != size]


def verify_model(space: Space) -> None:
    """Load the model and embed a text, in half a second or more. Raises ModelError."""
    from subcog_hooks.embed.neural_encoder import DocumentEmbedder  # it loads fastembed

    if lacking := missing_files(space):
        raise ModelError(f"{space.folder} lacks {lacking[0]}", space.remedy)
    if not any(DocumentEmbedder(space).query("the berth of the harbour")):
        raise ModelError(f"{space.model} gives vectors of nothing but zeros", space.remedy)


def vector_makers(space: Space) -> tuple[str, str]:
    """Return identities of the makers of a space's final and of its provisional vectors.

    Each names files and recipe, "" if unknown. It reads a header and a small file, so every command can call it. Vectors of
    another maker have to be replaced.
    """
    if not space.is_packaged:
        checksum = _read_description(space.folder).get("checksum")
        return f"{checksum} {RECIPE}" if checksum else "", ""
    try:
        with closing(StaticEncoder.open()) as encoder, closing(MultilingualEncoder.open()) as multilingual:
            recipe = f"{multilingual.checksum:08x} {RECIPE}"  # The multilingual encoder makes both where a text is not English.
            return f"{PACKAGED_CHECKSUM} {recipe}", f"{encoder.checksum:08x} {static_encoder.MAX_TOKENS} {recipe}"
    except ModelError:  # its user raises it
        return "", ""


def checksum_of(folder: str, names: Iterable[str]) -> str:
    """Return a checksum of these files of a folder. Raises OSError."""
    import hashlib  # 2 ms, needed only by a pull

    total = hashlib.sha256()
    for name in sorted(names):
        with open(os.path.join(folder, name), "rb") as file:
            total.update(f"{name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return total.hexdigest()[:16]


def size_of(space: Space) -> int:
    """Return the size of the model on disk in bytes."""
    return sum(_file_size(os.path.join(folder, name)) for folder, _, names in os.walk(space.folder) for name in names)


def remove_model(home: Home, space: Space) -> None:
    """Delete a pulled model, not its vectors; of a linked folder only the link. Raises ModelError."""
    try:
        aside = tempfile.mkdtemp(prefix=PARTIAL_PREFIX, dir=home.models)
        os.rename(space.folder, os.path.join(aside, "removed"))  # other processes see all of it or nothing
        delete_folder(aside)
    except OSError as error:
        raise ModelError(f"{space.folder} cannot be removed: {error.strerror}", "another process may be using it") from error


def delete_folder(path: str) -> None:
    """Delete a folder with its files, or a link to one. Raises OSError."""
    if os.path.islink(path):
        os.unlink(path)
    elif os.path.exists(path):
        shutil.rmtree(path)


def write_description(space: Space, source: str) -> None:
    """Write the description of a pulled model and its files into its folder. Raises OSError."""
    import json

    files = {
        os.path.relpath(path, space.folder).replace(os.sep, "/"): os.path.getsize(path)
        for folder, _, names in os.walk(space.folder)
        for path in (os.path.join(folder, name) for name in sorted(names))
    }
    checksum = checksum_of(space.folder, files)
    description = {"model": space.model, "dimension": space.dimension, "source": source, "checksum": checksum, "files": files}
    with open(os.path.join(space.folder, DESCRIPTION), "w", encoding="utf-8") as file:
        json.dump(description, file, indent=1)


def _read_description(folder: str) -> dict[str, Any]:
    try:
        description = light_json.loads(read_regular(os.path.join(folder, DESCRIPTION), MAX_DESCRIPTION).decode())
    except (OSError, ValueError):
        return {}
    return description if isinstance(description, dict) else {}


def _file_size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def spaces_in_use(home: Home, settings: Settings) -> list[Space]:
    """Return the packaged space, which the hook uses, and the user's space if its model is installed."""
    try:
        chosen = chosen_space(home, settings)
    except ModelError:  # a search raises it
        chosen = PACKAGED
    return [PACKAGED] if chosen.is_packaged else [PACKAGED, chosen]


def open_vectors(
    home: Home, store: Store, space: Space, progress: Progress | None = None, *, anew: bool = False, wait_ms: int | None = None
) -> VectorStore:
    """Return the vectors of a space, brought to the store's revision by `vector_store.open_following`. Raises StoreError."""
    return vector_store.open_following(
        home,
        store,
        space.name,
        space.dimension,
        provisional_encoder(space),
        progress,
        made_by=vector_makers(space),
        anew=anew,
        wait_ms=wait_ms,
    )


def provisional_encoder(space: Space) -> Encode:
    """Return the encoder of the first vectors of new memories: static in the packaged space, none in others."""

    def encode(texts: Sequence[str]) -> list[bytes | None]:
        from subcog_hooks.embed import neural_encoder  # most callers have no new texts

        return neural_encoder.encode_provisionally(texts)

    return encode if space.is_packaged else lambda texts: [None] * len(texts)


# Of short notes the static encoder finds more than the neural one, of longer texts less. nDCG@10 of conversations is .502
# with 0, .513 with .5, .518 with 1; of documentation .755, .757, .753.
STATIC_SHARE = 0.5


def unit_vector(encoded: bytes | None) -> list[float]:
    """Return an int8 vector as numbers, of length 1; [] for None, and for a vector without a direction.

    >>> unit_vector(bytes((3, 252)))
    [0.6, -0.8]
    """
    values = memoryview(encoded or b"").cast("b").tolist()
    length = sum([value * value for value in values]) ** 0.5
    return [value / length for value in values] if length else []


def encode_between(neural: QueryEncode, static: QueryEncode) -> QueryEncode:
    """Return an encoder that gives the neural unit vector of a text, plus STATIC_SHARE of the static one.

    >>> encode_between(lambda text: bytes((100, 0)), lambda text: bytes((0, 50)))("text")
    b'\\x7f@'
    """

    def encode(text: str) -> bytes | None:
        first, second = unit_vector(neural(text)), unit_vector(static(text))
        if not first or not second:
            return to_int8(first or second) or None
        return to_int8([a + STATIC_SHARE * b for a, b in zip(first, second, strict=True)])

    return encode


_TOKENIZER = "tokenizer.json"
_OPTIONAL = ("config.json", "tokenizer_config.json", "special_tokens_map.json", "preprocessor_config.json")
_HUB = "https://huggingface.co"
_LIST = "https://qdrant.github.io/fastembed/examples/Supported_Models/"


@record
class CatalogueEntry:
    """A model of the catalogue: fastembed's name, the dimension, the repository on the hub, and its own files."""

    model: str
    dimension: int
    repository: str
    files: tuple[str, ...]


def pull_model(home: Home, name: str, folder: str | None) -> Space:
    """Install a model of the catalogue after a trial; an installed sound model stays as it is.

    folder: with its files. Raises UsageError for a name that is not in the catalogue, and for None as the folder; ModelError
    for all other errors; then nothing is left behind.
    """
    entry = _find_entry(name)
    target = os.path.join(home.models, slug(entry.model))
    installed = [space for space in installed_spaces(home) if space.folder == target]
    if installed and not missing_files(installed[0]):
        return installed[0]
    if folder is None:
        files = ", ".join((_TOKENIZER, *_OPTIONAL, *entry.files))
        raise UsageError(
            f"download these of {_HUB}/{entry.repository} that are there: {files}", "then name their folder with --from"
        )
    make_private_folder(home.models)
    try:
        with ProcessLock(_lock_path(home), 0, "pulling a model"):
            _delete_leftovers(home)
            beside = Space(
                slug(entry.model), entry.model, entry.dimension, tempfile.mkdtemp(prefix=PARTIAL_PREFIX, dir=home.models)
            )
            try:
                return _install_model(entry, beside, target, folder)
            finally:
                shutil.rmtree(beside.folder, ignore_errors=True)
    except StoreBusy as error:
        raise ModelError("another process is pulling a model", "wait for it to end") from error
    except OSError as error:
        raise ModelError(
            f"{home.models} cannot be written: {error.strerror or first_line(error)}", "check the disk and its permissions"
        ) from error


def _install_model(entry: CatalogueEntry, beside: Space, target: str, folder: str) -> Space:
    source = os.path.abspath(folder)
    _copy_files(entry, source, beside.folder)
    try:
        write_description(beside, source)
        verify_model(beside)
    except ModelError as error:  # it names a temporary folder
        raise ModelError(error.message.replace(beside.folder, source), f"expected the files of {entry.model}") from error
    if os.path.lexists(target):
        aside = f"{beside.folder}-old"
        os.rename(target, aside)
        with suppress(OSError):  # the next pull deletes it
            delete_folder(aside)
    os.rename(beside.folder, target)
    return Space(beside.name, entry.model, entry.dimension, target)


def _find_entry(name: str) -> CatalogueEntry:
    entry_by_model = {
        model["model"].lower(): CatalogueEntry(
            model["model"], model["dim"], model["sources"]["hf"], (model["model_file"], *model["additional_files"])
        )
        for model in import_text_embedding().list_supported_models()
        if model["sources"]["hf"]
    }
    by_slug = {slug(model): entry for model, entry in entry_by_model.items()}
    entry_of_name = entry_by_model.get(name.lower()) or by_slug.get(name.lower())
    if entry_of_name:
        return entry_of_name
    raise UsageError(f"{name[:80]!r} is not a text model of fastembed's catalogue", f"{_LIST} names all")


def find_leftovers(home: Home) -> list[str]:
    """Return the folders of killed pulls, and vectors without their model; [] while a pull is under way."""
    return [] if is_held(_lock_path(home)) else _list_leftovers(home)


def remove_leftovers(home: Home) -> None:
    """Delete the leftovers, unless a pull is under way. Raises StoreError."""
    if _list_leftovers(home):
        with suppress(StoreBusy), ProcessLock(_lock_path(home), 0, "pulling a model"):
            _delete_leftovers(home)


def _lock_path(home: Home) -> str:
    return os.path.join(home.models, "pull.lock")


def _list_leftovers(home: Home) -> list[str]:
    names = os.listdir(home.models) if os.path.isdir(home.models) else []
    folders = [os.path.join(home.models, name) for name in names if name.startswith(PARTIAL_PREFIX)]
    ends = tuple(f"-{space.name}.db" for space in installed_spaces(home))
    return [*folders, *(path for path in find_vector_files(home) if not path.endswith(ends))]


def _delete_leftovers(home: Home) -> None:
    for path in _list_leftovers(home):
        with suppress(OSError, StoreError):
            delete_folder(path) if os.path.isdir(path) else remove_file(path)


def _copy_files(entry: CatalogueEntry, folder: str, target: str) -> None:
    if not os.path.isdir(folder):
        raise ModelError(f"{folder} is not a folder", f"expected one with the files of {entry.model}")
    for name in (*entry.files, _TOKENIZER, *_OPTIONAL):
        candidates = (os.path.join(folder, name), os.path.join(folder, os.path.basename(name)))
        source = next(filter(os.path.isfile, candidates), "")
        if source:
            os.makedirs(os.path.dirname(os.path.join(target, name)), exist_ok=True)
            shutil.copyfile(source, os.path.join(target, name))
        elif name not in _OPTIONAL:
            raise ModelError(f"{folder} lacks {name}", f"expected the files of {entry.model}")
