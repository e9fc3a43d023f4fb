"""Pulling a model of fastembed's catalogue from the network or a folder. All of it arrives, or nothing."""

from __future__ import annotations

import difflib
import os
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass

from subcog_hooks.core.errors import ModelError, StoreBusy, StoreError, UsageError
from subcog_hooks.core.homes import find_agent
from subcog_hooks.core.paths import Home, make_private_folder
from subcog_hooks.core.quiet_imports import first_line, import_text_embedding
from subcog_hooks.embed import models
from subcog_hooks.embed.space import Space
from subcog_hooks.store.home_files import ProcessLock, is_held
from subcog_hooks.store.vector_reader import find_vector_files, remove_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from http.client import HTTPResponse

    Progress = Callable[[int, int | None], None]  # (received bytes, total bytes if known)

_TOKENIZER = "tokenizer.json"
_OPTIONAL = ("config.json", "tokenizer_config.json", "special_tokens_map.json", "preprocessor_config.json")
_HUB = "https://huggingface.co"
_OFFLINE = "try again later, or pull it on another machine and give its folder with --from"
SILENCE_S = 15.0  # the timeout of an answer, and between two pieces of it
_LIST = "https://qdrant.github.io/fastembed/examples/Supported_Models/"
_PIECE = 256 * 1024  # bytes


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """A model of the catalogue: fastembed's name, the dimension, the repository on the hub, and its own files."""

    model: str
    dimension: int
    repository: str
    files: tuple[str, ...]


def list_catalogue() -> list[CatalogueEntry]:
    """Return all models that can be pulled. Raises ModelError when fastembed cannot be imported."""
    return [
        CatalogueEntry(model["model"], model["dim"], model["sources"]["hf"], (model["model_file"], *model["additional_files"]))
        for model in import_text_embedding().list_supported_models()
        if model["sources"]["hf"]
    ]


def pull_model(home: Home, name: str, folder: str | None, progress: Progress | None = None) -> Space:
    """Install a model of the catalogue after a trial; an installed sound model stays as it is.

    folder: with its files already; None fetches them. Raises UsageError for a name that is not in the catalogue, ModelError for
    all other errors; then nothing is left behind.
    """
    entry = _find_entry(name)
    target = os.path.join(home.models, models.slug(entry.model))
    installed = [space for space in models.installed_spaces(home) if space.folder == target]
    if installed and not models.missing_files(installed[0]):
        return installed[0]
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
                return _install_model(entry, beside, target, folder, progress)
            finally:
                shutil.rmtree(beside.folder, ignore_errors=True)
    except StoreBusy as error:
        raise ModelError("another process is pulling a model", "wait for it to end") from error
    except OSError as error:
        raise ModelError(
            f"{home.models} cannot be written: {error.strerror or first_line(error)}", "check the disk and its permissions"
        ) from error


def _install_model(entry: CatalogueEntry, beside: Space, target: str, folder: str | None, progress: Progress | None) -> Space:
    if folder is None:
        _download_files(entry, beside.folder, progress)
        source = f"{_hub()}/{entry.repository}"
    else:
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
    entry_by_model = {entry.model.lower(): entry for entry in list_catalogue()}
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
        source = next(
            (
                path
                for path in (os.path.join(folder, name), os.path.join(folder, os.path.basename(name)))
                if os.path.isfile(path)
            ),
            "",
        )
        if source:
            os.makedirs(os.path.dirname(os.path.join(target, name)), exist_ok=True)
            shutil.copyfile(source, os.path.join(target, name))
        elif name not in _OPTIONAL:
            raise ModelError(f"{folder} lacks {name}", f"expected the files of {entry.model}")


def _hub() -> str:
    """Return the address of the hub with the models. Raises ModelError."""
    if os.environ.get("HF_ENDPOINT") and find_agent():
        raise ModelError(
            "HF_ENDPOINT is set, and an agent's variables can come from a repository", "pull it in a terminal of your own"
        )
    return (os.environ.get("HF_ENDPOINT") or _HUB).rstrip("/")


def _download_files(entry: CatalogueEntry, target: str, progress: Progress | None) -> None:
    """Fetch a model's files with plain requests: the hub's own client has a cache, a log and retries.

    Raises ModelError when the network fails, OSError when the disk does.
    """
    done = 0
    for name in (_TOKENIZER, *_OPTIONAL, *entry.files):
        url = f"{_hub()}/{entry.repository}/resolve/main/{name}"
        answer = _open_url(url)
        if answer is None and name in _OPTIONAL:
            continue
        if answer is None:
            raise ModelError(f"{url} is not there", _OFFLINE)
        path = os.path.join(target, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with answer, open(path, "wb") as file:
            size = int(answer.headers.get("content-length") or 0)
            total = done + size if size else None
            for piece in _read_pieces(answer, size):
                file.write(piece)
                done += len(piece)
                if progress:
                    progress(done, total)


def _open_url(url: str) -> HTTPResponse | None:
    """Return the answer to a request, None for a missing file. Raises ModelError."""
    from subcog_hooks.core import repository_variables

    repository_variables.drop_set_variables(*repository_variables.FOR_TLS)
    import ssl
    import urllib.error
    import urllib.request  # 30 ms with ssl, for a pull only

    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())  # for a Python without the system's certificates
    try:
        if not url.startswith(("https://", "http://")):
            raise urllib.error.URLError("HF_ENDPOINT is not the address of a web server")
        answer: HTTPResponse = urllib.request.urlopen(url, timeout=SILENCE_S, context=context)  # noqa: S310 - checked above
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in (401, 403, 404):  # the hub's codes for a missing file
            return None
        raise ModelError(f"{url} cannot be fetched: {error.code} {error.reason}", _OFFLINE) from error
    except (OSError, ValueError) as error:
        raise ModelError(f"{_hub()} cannot be reached: {_reason(error)}", _OFFLINE) from error
    return answer


def _read_pieces(answer: HTTPResponse, size: int) -> Iterator[bytes]:
    from http.client import HTTPException

    received = 0
    try:
        while piece := answer.read(_PIECE):
            received += len(piece)
            yield piece
    except (OSError, HTTPException) as error:
        raise ModelError(f"{answer.url} broke off: {_reason(error)}", _OFFLINE) from error
    if received < size:
        raise ModelError(f"{answer.url} broke off after {received} of {size} bytes", _OFFLINE)


def _reason(error: BaseException) -> str:
    """Return the innermost cause of an error, in its own words."""
    while isinstance(inner := getattr(error, "reason", None), BaseException):
        error = inner
    return error.strerror if isinstance(error, OSError) and error.strerror else first_line(error)
