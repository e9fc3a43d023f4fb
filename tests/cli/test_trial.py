"""A copy of the store for a trial: it is removed even while a process writes there."""

import os
import threading
import time

from subcog_hooks.cli.decisions import remedies
from subcog_hooks.core.paths import Home
from tests.cli.conftest import Run


def test_a_copy_is_removed_though_its_index_still_writes(home: Home, subcog: Run) -> None:
    subcog("remember", "Prices are kept in cents.")

    def write(folder: str) -> None:
        until = time.monotonic() + 0.3
        while time.monotonic() < until:
            try:
                os.close(os.open(os.path.join(folder, f"segment{time.monotonic_ns()}"), os.O_CREAT))
            except FileNotFoundError:
                return

    with remedies.open_trial() as begun:
        index = os.path.join(begun.home.index, os.listdir(begun.home.index)[0])
        folder = index if os.path.isdir(index) else begun.home.index
        writer = threading.Thread(target=write, args=(folder,))
        writer.start()
        time.sleep(0.1)  # there is much to remove by now, and there will be more
    writer.join()
    assert os.listdir(home.trials) == ["making.lock"]
