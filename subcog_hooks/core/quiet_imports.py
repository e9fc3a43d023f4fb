"""Imports of libraries that would otherwise write, report, look up or load things on their own. Their use is elsewhere."""

from __future__ import annotations

import os
import sys

from subcog_hooks.core.errors import ModelError, extra_remedy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # onnxruntime, which is published without types

    from fastembed import TextEmbedding
    from tokenizers import Tokenizer

# Read when fastembed and its dependencies are imported. Without the first, onnxruntime 1.31 writes a device id under the user's
# cache folder and looks up a telemetry host.
_SWITCHES = {
    "ORT_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_OFFLINE": "1",  # models are pulled by our own code
    "HF_HUB_DISABLE_XET": "1",  # it keeps a log of its own
    "DO_NOT_TRACK": "1",
    "TOKENIZERS_PARALLELISM": "false",  # we say how many threads there are
}
_FATAL_ONLY = 4  # onnxruntime's severities; its failures reach us as exceptions


class DeferredImport:
    """A block in which others import the library `name`, which is loaded only when an attribute outside of `given` is used."""

    def __init__(self, name: str, **given: object) -> None:
        self._name = name
        self._stand_in = type(sys)(name)
        self._stand_in.__dict__.update(given, __getattr__=self._load)

    def __enter__(self) -> None:
        sys.modules.setdefault(self._name, self._stand_in)

    def __exit__(self, *_: object) -> None:
        if sys.modules.get(self._name) is self._stand_in:
            del sys.modules[self._name]

    def _load(self, attribute: str) -> object:
        self.__exit__()
        __import__(self._name)
        return getattr(sys.modules[self._name], attribute)


def import_onnx_runtime() -> tuple[Any, type[Tokenizer]]:
    """Return the module onnxruntime, silent and offline, and the class of tokenizers; 200 ms. Raises ModelError."""
    import warnings

    os.environ.update(_SWITCHES)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about its dependencies, on which no user can act
            import onnxruntime
            from tokenizers import Tokenizer
    except (ImportError, OSError) as error:  # no build for this system, or a broken one
        raise ModelError(f"onnxruntime cannot be imported: {first_line(error)}", "reinstall subcog") from error
    onnxruntime.set_default_logger_severity(_FATAL_ONLY)
    return onnxruntime, Tokenizer


def import_text_embedding() -> type[TextEmbedding]:
    """Return fastembed's class, silent and offline; 900 ms for the first call in a process. Raises ModelError."""
    import socket
    import warnings

    import_onnx_runtime()
    has_ipv6, socket.has_ipv6 = socket.has_ipv6, False  # urllib3 would open a socket to find out; we make no requests by it
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about its dependencies, on which no user can act
            from fastembed import TextEmbedding
            from loguru import logger
    except ModuleNotFoundError as error:
        raise ModelError("models other than the packaged one need fastembed", extra_remedy("models")) from error
    except (ImportError, OSError) as error:  # no build for this system, or a broken one
        raise ModelError(f"fastembed cannot be imported: {first_line(error)}", "reinstall subcog") from error
    finally:
        socket.has_ipv6 = has_ipv6
    logger.disable("fastembed")
    return TextEmbedding


def first_line(error: BaseException) -> str:
    """Return a library's error message, short enough for one line of ours."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else text[:199] + "…"
