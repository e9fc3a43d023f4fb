"""Two hooks of one session at once: each memory is handed over by one of them."""

from pathlib import Path

ROOT = Path(__file__).parents[2]


HOOK = f"import sys; sys.path.insert(0, {str(ROOT)!r}); sys.argv = ['subcog', 'hook']\n"
HOOK += "from subcog_hooks.__main__ import main; main()"
