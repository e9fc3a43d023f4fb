"""The one entry point: `subcog hook`, `block` and a script's search run without typer and rich, all else is the terminal's."""

from __future__ import annotations

import _collections_abc
import marshal
import os
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import MAGIC_NUMBER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

_QUIET = "--quiet"  # an option of every command
_TAG = sys.implementation.cache_tag
_UNHASHED = bytes(4)  # the flags of bytecode that is checked by its source's time


def main() -> None:
    """Run the command in sys.argv; ends the process with its exit code."""
    os.umask(0o077)  # whatever is written is the user's alone
    command = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
    if command == "block" and (asked := _block_asked_for(sys.argv[1:])):
        _make_light()
        from subcog_hooks.hooks import one_prompt

        os._exit(one_prompt.run(*asked))  # as the hook does: nothing is left to tidy up
    if command == "show" and os.environ.get("CLAUDECODE") == "1":
        _make_light()
        from subcog_hooks.hooks import opening

        if (code := opening.run(sys.argv[1:])) is not None:
            os._exit(code)
    if command == "hook":
        try:
            if not sys.flags.isolated and any(name.startswith("PYTHON") for name in os.environ):
                from subcog_hooks import child_environment  # where a variable may lead the interpreter

                child_environment.restart_isolated()
            _make_light()
            from subcog_hooks.hooks import runner

            runner.main()
        except BaseException as error:  # noqa: BLE001 - a broken installation must not cost the user a prompt
            _note_broken(error)
            sys.exit(0)
    try:
        import gc

        gc.disable()  # while modules are loaded, which stay anyway: a tenth of a command's time
        sys.meta_path.insert(0, DirectFinder())
        if command == "search":
            from subcog_hooks.cli import light_search

            light_search.end_if_asked(sys.argv[1:])
        from subcog_hooks.cli.app import run  # 120 ms of typer and rich, for the terminal only

        run()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)


def _note_broken(error: BaseException) -> None:
    """Write to the log that the hook cannot be loaded, as far as such an installation is able to."""
    try:
        from subcog_hooks import log
        from subcog_hooks.homes import find_home

        log.write(find_home()[0], f"the hook cannot be loaded: {type(error).__name__}: {error}; install subcog again")
    except BaseException:  # noqa: BLE001, S110 - there is nowhere left to report to
        pass


def _block_asked_for(words: Sequence[str]) -> tuple[str, bool, bool] | None:
    """Return the prompt of `subcog block`, whether JSON and whether silence is wanted; None where the terminal answers."""
    rest = [word for word in words if word != _QUIET]
    if len(rest) not in (2, 3) or rest[0] != "block":
        return None
    options = {word for word in rest[1:] if word.startswith("-") and word != "-"}
    prompts = [word for word in rest[1:] if word not in options]
    return (prompts[0], bool(options), _QUIET in words) if len(prompts) == 1 and options <= {"--json"} else None


class DirectFinder:
    """Finds this package's modules where their bytecode lies, without what makes the usual way general.

    Of 70 modules of some kilobytes each the usual way takes a tenth of the hook. Bytecode counts on the usual terms: it is of
    this interpreter, and its source has the time and the size that it names. Anything else is left to the usual way.
    """

    __slots__ = ()

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, _: object = None) -> ModuleSpec | None:
        """Return where a module of this package is, None for any other. path: the package's folders."""
        if not path or not name.startswith("subcog_hooks."):
            return None
        place = f"{path[0]}/{name.rpartition('.')[2]}"
        folder, _, file = place.rpartition("/")
        for source, cached in (
            (f"{place}.py", f"{folder}/__pycache__/{file}.{_TAG}.pyc"),
            (f"{place}/__init__.py", f"{place}/__pycache__/__init__.{_TAG}.pyc"),
        ):
            try:
                with open(cached, "rb", 0) as opened:
                    data = opened.read()
                status = os.stat(source)
            except OSError:
                continue
            if data[:16] != b"".join((MAGIC_NUMBER, _UNHASHED, _word(int(status.st_mtime)), _word(status.st_size))):
                return None
            spec = ModuleSpec(name, _Loader(data), origin=source, is_package=source.endswith("__init__.py"))  # type: ignore[arg-type]  # it duck-types importlib.abc.Loader
            if spec.submodule_search_locations is not None:
                spec.submodule_search_locations.append(place)
            spec.has_location = True
            spec.cached = cached  # or the import works it out anew, of 90 modules in a millisecond
            return spec
        return None


class _Loader:
    """Runs the bytecode that was read when the module was found."""

    __slots__ = ("_data",)

    def __init__(self, data: bytes) -> None:
        self._data = data

    @staticmethod
    def create_module(_: ModuleSpec) -> None:
        """Leave it to the interpreter."""

    def exec_module(self, module: ModuleType) -> None:
        """Run a module's bytecode."""
        exec(marshal.loads(memoryview(self._data)[16:]), module.__dict__)  # noqa: S102, S302 - what an import does


def _word(number: int) -> bytes:
    return (number & 0xFFFFFFFF).to_bytes(4, "little")


def _make_light() -> None:
    """Spare the hook what its process of some milliseconds has no use for."""
    import gc

    gc.disable()
    sys.meta_path.insert(0, DirectFinder())
    if sys.version_info < (3, 12):
        # there datetime is 1 ms of Python around the C module, which is all that tantivy asks for
        import _datetime  # type: ignore[import-not-found]  # typeshed leaves it out

        sys.modules.setdefault("datetime", _datetime)
    if "collections" not in sys.modules:
        sys.modules["collections"] = _Collections("collections")
        sys.modules["collections.abc"] = _collections_abc


class _Collections(type(sys)):  # type: ignore[misc]  # ModuleType, without the module `types`
    """The package `collections` as apsw asks for it: its `abc`, which is loaded anyway; all else loads all of it.

    The whole takes 1.3 ms, a tenth of what a hook that has nothing to say adds to the interpreter.
    """

    abc = _collections_abc

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        if sys.modules.get("collections") is self:
            del sys.modules["collections"]
        import collections

        collections.abc = _collections_abc  # as an import of it would have done
        return getattr(collections, name)


if __name__ == "__main__":
    main()
