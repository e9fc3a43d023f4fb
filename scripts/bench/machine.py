"""Find or install the executable that is measured, and describe the machine that it runs on."""

import json
import os
import platform
import shutil
import subprocess
import sys
import time
from typing import NamedTuple, NoReturn

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Subcog(NamedTuple):
    """An installed executable, and the interpreter of its environment."""

    command: str
    python: str


class Failed(Exception):
    """Something could not be measured."""


def end_by_signal(number: int, _frame: object) -> NoReturn:
    """End as an exit does, so that temporary folders go away; a handler for SIGTERM."""
    sys.exit(128 + number)


def show_progress(message: str) -> None:
    """Show what is going on, on a terminal only."""
    if sys.stderr.isatty():
        print(f"\r\033[K{message}", end="", file=sys.stderr, flush=True)


def find_subcog(path: str) -> Subcog:
    in_checkout = os.path.join(ROOT, ".venv", "bin", "subcog")
    command = path or (in_checkout if os.path.exists(in_checkout) else shutil.which("subcog"))
    if not command or not os.access(command, os.X_OK):
        raise Failed(f"{command or 'subcog'} can not be run")
    command = os.path.abspath(command)
    with open(command, "rb") as file:
        first = file.readline().decode("utf-8", "replace").strip()
    python = first.removeprefix("#!").strip() if first.startswith("#!") else ""
    if "python" not in os.path.basename(python) or not os.access(python, os.X_OK):  # a shell wrapper, or env
        python = os.path.join(os.path.dirname(os.path.realpath(command)), "python")
    if not os.access(python, os.X_OK):
        raise Failed(f"the interpreter of {command} was not found")
    return Subcog(command, python)


def install_subcog(folder: str) -> Subcog:
    """Install the package of this checkout into a virtual environment of its own."""
    python = install_package(folder, ROOT)
    return Subcog(os.path.join(os.path.dirname(python), "subcog"), python)


def install_package(folder: str, requirement: str, base: str = sys.executable) -> str:
    """Install a package into a virtual environment of `base` in this folder, and return its interpreter. Raises Failed."""
    show_progress(f"installing {requirement} into a virtual environment")
    python = os.path.join(folder, "venv", "bin", "python")
    pip = [python, "-m", "pip", "install", "--quiet"]
    create = [base, "-m", "venv", os.path.join(folder, "venv")]
    for command in (create, [*pip, "--upgrade", "pip"], [*pip, requirement]):
        done = subprocess.run(command, env=child_environment(), cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Failed(f"{' '.join(command)} failed: {(done.stderr or done.stdout).strip()[-2000:]}")
    return python


def registered_command(subcog: Subcog, folder: str) -> list[str]:
    """Return the command that `subcog init` registers, as words, by running it with a settings file of its own."""
    settings = os.path.join(folder, "client")
    environment = child_environment(CLAUDE_CONFIG_DIR=settings, SUBCOG_HOME=os.path.join(folder, "home"))
    done = subprocess.run([subcog.command, "init"], env=environment, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"subcog init failed: {done.stderr.strip()[-500:]}")
    with open(os.path.join(settings, "settings.json"), encoding="utf-8") as file:
        handler = json.load(file)["hooks"]["UserPromptSubmit"][0]["hooks"][0]
    return [handler["command"], *handler["args"]]


def child_environment(**more: str) -> dict[str, str]:
    """Return the environment without all that would make the interpreter or subcog another one.

    Nothing is embedded in the background meanwhile: it would take a core, and provisional vectors cost a search as much.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SUBCOG_"))}
    return kept | {"SUBCOG_BACKGROUND": "0"} | more


def describe_environment(subcog: Subcog) -> dict[str, object]:
    """Return what has to stand beside the figures for anybody to make sense of them."""
    program = (
        "import json, sys, importlib.metadata as m\n"
        "url = m.distribution('subcog').read_text('direct_url.json') or '{}'\n"
        "names = 'subcog apsw tantivy sqlite-vec google-re2 typer rich tomlkit detect-secrets'.split()\n"
        "print(json.dumps({'python': sys.version.split()[0], 'implementation': sys.implementation.name,\n"
        " 'packages': {n: m.version(n) for n in names},\n"
        " 'editable': json.loads(url).get('dir_info', {}).get('editable', False)}))\n"
    )
    done = subprocess.run([subcog.python, "-c", program], env=child_environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"subcog is not installed for {subcog.python}: {done.stderr.strip()[-500:]}")
    environment: dict[str, object] = json.loads(done.stdout)
    return environment | {
        "platform": platform.platform(),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "commit": _commit(),
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _cpu() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                name, _, value = line.partition(":")
                if name.strip() == "model name":
                    return value.strip()
    except OSError:
        pass
    return platform.processor()


def _commit() -> str | None:
    """Return the commit of the checkout, with a mark when it has been changed; None where there is none."""
    if shutil.which("git") is None:
        return None
    git = ["git", "-C", ROOT]
    head = subprocess.run([*git, "rev-parse", "--verify", "HEAD"], capture_output=True, text=True, check=False)
    if head.returncode:
        return None
    changed = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True, check=False).stdout
    return head.stdout.strip() + ("+changes" if changed.strip() else "")


def describe_machine(environment: dict[str, object]) -> str:
    commit, mark, _ = str(environment["commit"]).partition("+")
    return (
        f"commit {commit[:8]}{mark and ' with changes'}, {environment['implementation']} {environment['python']}, "
        f"{environment['cpu']}, {environment['cores']} cores"
    )
