"""Getting a model of fastembed's catalogue: from the network, or copied from a folder. All of it arrives, or nothing."""

from __future__ import annotations

import difflib
import os
import shutil
import tempfile
from contextlib import suppress

from subcog_hooks.core.errors import ModelError, StoreBusy, UsageError
from subcog_hooks.core.homes import IN_AN_AGENT
from subcog_hooks.core.paths import Home, make_private_folder
from subcog_hooks.core.quiet_imports import first_line, text_embedding
from subcog_hooks.embed import models
from subcog_hooks.embed.space import Space
from subcog_hooks.store.lock import ProcessLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from http.client import HTTPResponse

    Progress = Callable[[int, int | None], None]  # bytes that have come, bytes that will have in the end as far as is known

_TOKENIZER = "tokenizer.json"
_OPTIONAL = ("config.json", "tokenizer_config.json", "special_tokens_map.json", "preprocessor_config.json")
_HUB = "https://huggingface.co"
_OFFLINE = "try again later, or pull it on another machine and give its folder with --from"
SILENCE_S = 15.0  # until an answer begins, and between two pieces of it
_LIST = "https://qdrant.github.io/fastembed/examples/Supported_Models/"
_PIECE = 256 * 1024  # bytes


class CatalogueEntry:
    """A model of the catalogue: fastembed's name, the dimension, the repository on the hub, and its own files."""

    __slots__ = ("dimension", "files", "model", "repository")

    def __init__(self, model: str, dimension: int, repository: str, files: tuple[str, ...]) -> None:
        self.model = model
        self.dimension = dimension
        self.repository = repository
        self.files = files


def catalogue() -> list[CatalogueEntry]:
    """Return all models that can be pulled. Raises ModelError when fastembed can not be imported."""
    return [
        CatalogueEntry(told["model"], told["dim"], told["sources"]["hf"], (told["model_file"], *told["additional_files"]))
        for told in text_embedding().list_supported_models()
        if told["sources"]["hf"]
    ]


def pull(home: Home, name: str, folder: str | None, progress: Progress | None = None) -> Space:
    """Install a model of the catalogue, tried out before it is put in its place; one that is there and sound stays as it is.

    folder: where its files lie already; None fetches them. Raises UsageError for a name that is not in the catalogue,
    ModelError for whatever else goes wrong; then nothing is left behind.
    """
    entry = _entry(name)
    place = os.path.join(home.models, models.slug(entry.model))
    there = [space for space in models.installed(home) if space.folder == place]
    if there and not models.missing(there[0]):
        return there[0]
    make_private_folder(home.models)
    try:
        with ProcessLock(os.path.join(home.models, "pull.lock"), 0, "pulling a model"):
            _sweep(home)
            beside = Space(
                models.slug(entry.model), entry.model, entry.dimension, tempfile.mkdtemp(prefix=models.PARTIAL, dir=home.models)
            )
            try:
                return _install(entry, beside, place, folder, progress)
            finally:
                shutil.rmtree(beside.folder, ignore_errors=True)
    except StoreBusy as error:
        raise ModelError("another process is pulling a model", "wait for it to end") from error
    except OSError as error:
        raise ModelError(
            f"{home.models} can not be written: {error.strerror or first_line(error)}", "check the disk and its permissions"
        ) from error


def _install(entry: CatalogueEntry, beside: Space, place: str, folder: str | None, progress: Progress | None) -> Space:
    if folder is None:
        _download(entry, beside.folder, progress)
        source = f"{_hub()}/{entry.repository}"
    else:
        source = os.path.abspath(folder)
        _copy(entry, source, beside.folder)
    try:
        models.describe(beside, source)
        models.verify(beside)
    except ModelError as error:  # of the folder that will be gone in a moment
        raise ModelError(error.message.replace(beside.folder, source), f"expected the files of {entry.model}") from error
    if os.path.lexists(place):
        aside = f"{beside.folder}-old"
        os.rename(place, aside)
        with suppress(OSError):  # the next pull sweeps it away
            models.delete(aside)
    os.rename(beside.folder, place)
    return Space(beside.name, entry.model, entry.dimension, place)


def _entry(name: str) -> CatalogueEntry:
    known = {entry.model.lower(): entry for entry in catalogue()}
    by_slug = {models.slug(model): entry for model, entry in known.items()}
    found = known.get(name.lower()) or by_slug.get(name.lower())
    if found:
        return found
    short = {entry.model.lower().rpartition("/")[2]: entry.model for entry in known.values()}
    close = difflib.get_close_matches(name.lower().rpartition("/")[2], list(short), n=3, cutoff=0.5)
    hint = f"there are, for instance, {', '.join(short[each] for each in close)}" if close else f"{_LIST} names all"
    raise UsageError(f"{name[:80]!r} is not a text model of fastembed's catalogue", hint)


def _sweep(home: Home) -> None:
    """Remove what a pull that was killed has left; under the lock nobody is at work there."""
    for name in os.listdir(home.models):
        if name.startswith(models.PARTIAL):
            with suppress(OSError):
                models.delete(os.path.join(home.models, name))


def _copy(entry: CatalogueEntry, folder: str, target: str) -> None:
    """Copy a model's files, which may also lie side by side where the hub has them in folders."""
    if not os.path.isdir(folder):
        raise ModelError(f"{folder} is not a folder", f"expected one with the files of {entry.model}")
    for name in (*entry.files, _TOKENIZER, *_OPTIONAL):
        found = next(
            (
                path
                for path in (os.path.join(folder, name), os.path.join(folder, os.path.basename(name)))
                if os.path.isfile(path)
            ),
            "",
        )
        if found:
            os.makedirs(os.path.dirname(os.path.join(target, name)), exist_ok=True)
            shutil.copyfile(found, os.path.join(target, name))
        elif name not in _OPTIONAL:
            raise ModelError(f"{folder} lacks {name}", f"expected the files of {entry.model}")


def _hub() -> str:
    """Return the address that models are fetched from. Raises ModelError."""
    if os.environ.get("HF_ENDPOINT") and os.environ.get(IN_AN_AGENT):
        raise ModelError(
            "HF_ENDPOINT is set, and an agent's variables can come from a repository", "pull it in a terminal of your own"
        )
    return (os.environ.get("HF_ENDPOINT") or _HUB).rstrip("/")


def _download(entry: CatalogueEntry, target: str, progress: Progress | None) -> None:
    """Fetch a model's files with plain requests: the hub's own client has a cache, a log and retries of its own.

    Raises ModelError when the network fails, OSError when the disk does.
    """
    done = 0
    for name in (_TOKENIZER, *_OPTIONAL, *entry.files):
        url = f"{_hub()}/{entry.repository}/resolve/main/{name}"
        answer = _opened(url)
        if answer is None and name in _OPTIONAL:
            continue
        if answer is None:
            raise ModelError(f"{url} is not there", _OFFLINE)
        path = os.path.join(target, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with answer, open(path, "wb") as file:
            size = int(answer.headers.get("content-length") or 0)
            total = done + size if size else None
            for piece in _pieces(answer, size):
                file.write(piece)
                done += len(piece)
                if progress:
                    progress(done, total)


def _opened(url: str) -> HTTPResponse | None:
    """Return the answer to a request, None when there is no such thing. Raises ModelError."""
    from subcog_hooks.core import child_environment

    child_environment.drop_set_variables(*child_environment.FOR_TLS)
    import ssl
    import urllib.error
    import urllib.request  # 30 ms with ssl, for a pull only

    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())  # for a Python that does not know the system's own
    try:
        if not url.startswith(("https://", "http://")):
            raise urllib.error.URLError("HF_ENDPOINT is not the address of a web server")
        answer: HTTPResponse = urllib.request.urlopen(url, timeout=SILENCE_S, context=context)  # noqa: S310 - looked at above
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in (401, 403, 404):  # the hub's ways of saying that it is not there
            return None
        raise ModelError(f"{url} can not be fetched: {error.code} {error.reason}", _OFFLINE) from error
    except (OSError, ValueError) as error:
        raise ModelError(f"{_hub()} can not be reached: {_reason(error)}", _OFFLINE) from error
    return answer


def _pieces(answer: HTTPResponse, size: int) -> Iterator[bytes]:
    from http.client import HTTPException

    come = 0
    try:
        while piece := answer.read(_PIECE):
            come += len(piece)
            yield piece
    except (OSError, HTTPException) as error:
        raise ModelError(f"{answer.url} broke off: {_reason(error)}", _OFFLINE) from error
    if come < size:
        raise ModelError(f"{answer.url} broke off after {come} of {size} bytes", _OFFLINE)


def _reason(error: BaseException) -> str:
    """Return the innermost cause of an error, in its own words."""
    while isinstance(inner := getattr(error, "reason", None), BaseException):
        error = inner
    return error.strerror if isinstance(error, OSError) and error.strerror else first_line(error)
