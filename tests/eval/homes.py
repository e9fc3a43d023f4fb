"""Homes with a collection in them, with final vectors: kept, so that nothing is embedded twice."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from subcog_hooks.core.paths import Home
from subcog_hooks.embed import models
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.embed.static_encoder import StaticEncoder
from subcog_hooks.hook import detached
from subcog_hooks.store import index, vector_reader
from tests.eval.collection import ROOT

DEFAULT = ROOT / ".cache" / "eval"  # where they are kept unless said otherwise
STATIC, NEURAL = (
    "static",
    "neural",
)  # what embeds a query: the hook's encoder (`search --fast`), or that and the documents' own model

Encode = Callable[[str], bytes | None]


def home_of(memories: Path, kept: Path) -> Home:
    """A home with these memories, in the folder `kept`: the one that is there, when the package would make the same today."""
    digest = hashlib.sha256(memories.read_bytes())
    digest.update(f"{models.vector_makers(PACKAGED)} {index.INDEX_FORMAT} {vector_reader.VECTORS_FORMAT}".encode())
    target = kept / f"{memories.parent.name}-{digest.hexdigest()[:12]}"
    stamp = target.with_suffix(".indexed")  # which sources made its index: vectors take minutes, the index seconds
    if not target.is_dir():
        kept.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept, prefix="new-") as made:
            _subcog(Path(made) / "home", "import", str(memories), "--trust", "user", "--wait")
            shutil.move(Path(made) / "home", target)
    elif not stamp.is_file() or stamp.read_text(encoding="ascii") != _indexer():
        _subcog(target, "doctor", "--fix")
    stamp.write_text(_indexer(), encoding="ascii")
    return Home(str(target))


def _indexer() -> str:
    """A digest of the sources that make an index."""
    sources = sorted(path for folder in ("store", "text") for path in (ROOT / "subcog_hooks" / folder).glob("*.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


def _subcog(home: Path, *arguments: str) -> None:
    """Run a command as a user does. Raises RuntimeError with what it said."""
    settings = {"SUBCOG_HOME": str(home), detached.SWITCH_OFF: "0"}
    done = subprocess.run(
        [sys.executable, "-m", "subcog_hooks", *arguments],
        env={**os.environ, **settings},
        cwd=ROOT,  # the package that is tested, wherever another is installed
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"subcog {' '.join(arguments)}: {done.stderr[-1000:]}")


def encoder(query: str) -> Encode:
    """What gives a query its vector, by name."""
    static = StaticEncoder.open().encode
    if query == STATIC:
        return static
    from subcog_hooks.embed.neural_encoder import DocumentEmbedder  # 0.6 s

    return models.encode_between(DocumentEmbedder(PACKAGED).query, static)
