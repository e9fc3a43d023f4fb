"""An interpreter that has loaded the installed package, and forks a process for each command that it is asked for.

A program of its own, run by prepared.py: it imports nothing of the tests.
"""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import socket
import sys
import threading
import traceback
import warnings
from typing import NoReturn

LIBRARIES = ("markdown_it", "rich.live")  # which commands load inside functions


def load() -> None:
    """Import all modules of the package and what its commands load late, and compile the patterns of secrets."""
    package = importlib.import_module("subcog_hooks")
    for module in pkgutil.walk_packages(package.__path__, "subcog_hooks."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in LIBRARIES:
        importlib.import_module(name)
    importlib.import_module("subcog_hooks.core.quiet_imports").import_onnx_runtime()
    importlib.import_module("subcog_hooks.redaction.redact").redact("x")
    gc.collect()
    gc.freeze()  # or the first collection of every child copies all of it


def serve(channel: socket.socket) -> None:
    """Fork a process for each request, and tell its number and then its exit code.

    Returns in such a process, and in the first one when nobody asks any more. A request: one byte with three descriptors, and a
    line of JSON.
    """
    with channel, channel.makefile("rb") as lines:
        while True:
            _, descriptors, _, _ = socket.recv_fds(channel, 1, 3)
            if not descriptors:
                os._exit(0)
            request = json.loads(lines.readline())
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # numpy's threads: it ends them before a fork
                process = os.fork()
            if process == 0:
                break
            for descriptor in descriptors:
                os.close(descriptor)
            tell(channel, process)
            tell(channel, os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
    for stream, descriptor in enumerate(descriptors):
        os.dup2(descriptor, stream)
        os.close(descriptor)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = request["words"]


def tell(channel: socket.socket, number: int) -> None:
    """Send a number in four bytes."""
    channel.sendall(number.to_bytes(4, sys.byteorder, signed=True))


def end(code: object) -> NoReturn:
    """End this process as the interpreter does, but for tearing its modules down: that is most of what is left to do."""
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads
    atexit._run_exitfuncs()
    if not isinstance(code, int | None):
        sys.stderr.write(f"{code}\n")
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit((code or 0) & 0xFF)


if __name__ == "__main__":
    sys.path[0] = os.path.dirname(sys.executable)  # as for the installed script
    load()
    serve(socket.socket(fileno=int(sys.argv[1])))
    try:
        importlib.import_module("subcog_hooks.__main__").main()
    except SystemExit as ended:
        end(ended.code)
    except BaseException:  # noqa: BLE001 - printed, as by the interpreter
        traceback.print_exc()
        end(1)
    end(0)
