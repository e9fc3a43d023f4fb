"""Work that a session's start leaves to a detached process, of the lowest priority, once its answer is written."""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.paths import Home

RESTING_COMMAND = "at-rest"
RESTING_SWITCH = "SUBCOG_BACKGROUND"  # 0: nothing is started, whatever the settings say


def start(home: "Home") -> None:
    """Start the process, which outlives this one and holds none of its files. Raises OSError."""
    words = [sys.executable, "-P", "-m", "subcog_hooks", RESTING_COMMAND]
    environment = {**os.environ, "SUBCOG_HOME": home.root}
    if not hasattr(os, "posix_spawn"):
        _start_by_subprocess(words, environment, home)
        return
    at = os.getcwd() if os.access(".", os.R_OK) else "/"
    nothing = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
    os.chdir(home.root)  # the folder it starts in is data, which the process must not hold
    try:
        os.posix_spawn(sys.executable, words, environment, file_actions=nothing, setsid=True)
    except NotImplementedError:  # a system whose posix_spawn begins no session
        os.posix_spawn(sys.executable, words, environment, file_actions=nothing, setpgroup=0)
    finally:
        os.chdir(at)


def _start_by_subprocess(words: list[str], environment: dict[str, str], home: "Home") -> None:
    import subprocess  # 6 ms, where there is nothing lighter

    quiet = subprocess.DEVNULL
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.DETACHED_PROCESS | subprocess.IDLE_PRIORITY_CLASS | subprocess.CREATE_NEW_PROCESS_GROUP
    subprocess.Popen(words, stdin=quiet, stdout=quiet, stderr=quiet, cwd=home.root, env=environment, creationflags=flags)
