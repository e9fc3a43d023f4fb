"""Pulling a model of fastembed's catalogue from a folder with its files. All of it arrives, or nothing."""

from __future__ import annotations

import difflib
import os
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass

from subcog_hooks.core.errors import ModelError, StoreBusy, StoreError, UsageError
from subcog_hooks.core.files import make_private_folder
from subcog_hooks.core.quiet_imports import first_line, import_text_embedding
from subcog_hooks.embed import models
from subcog_hooks.embed.space import Space
from subcog_hooks.store.home_files import ProcessLock, is_held
from subcog_hooks.store.vector_store import find_vector_files, remove_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.core.paths import Home

_TOKENIZER = "tokenizer.json"
_OPTIONAL = ("config.json", "tokenizer_config.json", "special_tokens_map.json", "preprocessor_config.json")
_HUB = "https://huggingface.co"
_LIST = "https://qdrant.github.io/fastembed/examples/Supported_Models/"


@dataclass(frozen=True, slots=True)
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
    target = os.path.join(home.models, models.slug(entry.model))
    installed = [space for space in models.installed_spaces(home) if space.folder == target]
    if installed and not models.missing_files(installed[0]):
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
                models.slug(entry.model),
                entry.model,
                entry.dimension,
                tempfile.mkdtemp(prefix=models.PARTIAL_PREFIX, dir=home.models),
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
        models.write_description(beside, source)
        models.verify_model(beside)
    except ModelError as error:  # it names a temporary folder
        raise ModelError(error.message.replace(beside.folder, source), f"expected the files of {entry.model}") from error
    if os.path.lexists(target):
        aside = f"{beside.folder}-old"
        os.rename(target, aside)
        with suppress(OSError):  # the next pull deletes it
            models.delete_folder(aside)
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
    by_slug = {models.slug(model): entry for model, entry in entry_by_model.items()}
    entry_of_name = entry_by_model.get(name.lower()) or by_slug.get(name.lower())
    if entry_of_name:
        return entry_of_name
    short = {entry.model.lower().rpartition("/")[2]: entry.model for entry in entry_by_model.values()}
    close = difflib.get_close_matches(name.lower().rpartition("/")[2], list(short), n=3, cutoff=0.5)
    hint = f"there are, for instance, {', '.join(short[model] for model in close)}" if close else f"{_LIST} names all"
    raise UsageError(f"{name[:80]!r} is not a text model of fastembed's catalogue", hint)


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
    folders = [os.path.join(home.models, name) for name in names if name.startswith(models.PARTIAL_PREFIX)]
    ends = tuple(f"-{space.name}.db" for space in models.installed_spaces(home))
    return [*folders, *(path for path in find_vector_files(home) if not path.endswith(ends))]


def _delete_leftovers(home: Home) -> None:
    for path in _list_leftovers(home):
        with suppress(OSError, StoreError):
            models.delete_folder(path) if os.path.isdir(path) else remove_file(path)


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
