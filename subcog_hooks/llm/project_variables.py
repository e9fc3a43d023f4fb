"""Variables that a repository sets: its settings for the client can put them into the environment of the hook and the agent."""

import os

from subcog_hooks import wire
from subcog_hooks.accepted_homes import account_folder
from subcog_hooks.homes import places_at_hand
from subcog_hooks.regular_files import read_regular

FILES = ("settings.json", "settings.local.json")  # in the folder `.claude` of the place where the client was started
MAX_SETTINGS = 1_000_000  # bytes


def find_setter(variable: str) -> str:
    """Return the settings file of the repository at hand that sets a variable, or may; "" when none does."""
    for folder in _folders():
        for name in FILES:
            path = os.path.join(folder, ".claude", name)
            if os.path.lexists(path) and _may_set(path, variable):
                return path
    return ""


def _folders() -> list[str]:
    """Return the folders from those at hand up to the top of their repository, without the user's own."""
    try:
        own = os.path.realpath(account_folder())
    except OSError:
        own = ""
    found: dict[str, None] = {}
    for place in places_at_hand():
        folder, parents = os.path.realpath(place), [os.path.realpath(place)]
        while not os.path.lexists(os.path.join(folder, ".git")) and os.path.dirname(folder) != folder:
            folder = os.path.dirname(folder)
            parents.append(folder)
        is_repository = os.path.lexists(os.path.join(folder, ".git"))
        found.update(dict.fromkeys(parents if is_repository else parents[:1]))
    return [folder for folder in found if folder != own]


def _may_set(path: str, variable: str) -> bool:
    try:
        raw = read_regular(path, MAX_SETTINGS + 1)
        settings = wire.loads(raw.decode("utf-8-sig")) if len(raw) <= MAX_SETTINGS else None
    except OSError:
        return False  # the client can not read it either
    except ValueError:
        return True  # the client may be less strict
    variables = settings.get("env") if isinstance(settings, dict) else {variable: ""}
    return isinstance(variables, dict) and variable in variables
