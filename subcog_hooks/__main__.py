"""The one entry point: `subcog hook` runs the hook without loading the terminal; everything else is the terminal's."""

import os
import sys


def main() -> None:
    """Run the command in sys.argv; ends the process with its exit code."""
    os.umask(0o077)  # whatever is written is the user's alone
    if next((word for word in sys.argv[1:] if not word.startswith("-")), "") == "hook":
        try:
            _make_light()
            from subcog_hooks.hooks import runner

            runner.main()
        except BaseException:  # noqa: BLE001 - a broken installation must not cost the user a prompt
            sys.exit(0)
    try:
        from subcog_hooks.cli.app import run  # 120 ms of typer and rich, for the terminal only

        run()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)


def _make_light() -> None:
    """Spare the hook what its process of some milliseconds has no use for."""
    import gc

    gc.disable()
    if sys.version_info < (3, 12):
        # there datetime is 1 ms of Python around the C module, which is all that tantivy asks for
        import _datetime  # type: ignore[import-not-found]  # typeshed leaves it out

        sys.modules.setdefault("datetime", _datetime)


if __name__ == "__main__":
    main()
