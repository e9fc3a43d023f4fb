"""The entry point of every command. `hook`, `block` and a script's `search` run without typer and rich."""

import os
import sys

_QUIET = "--quiet"  # an option of every command


def main() -> None:
    """Run the command in sys.argv, and end the process with its exit code."""
    import gc

    gc.disable()  # collecting costs a tenth of a command, and modules stay loaded anyway
    os.umask(0o077)  # only the user may read the files
    arguments = sys.argv[1:]
    command = next((word for word in arguments if not word.startswith("-")), "")
    if command == "hook":
        _run_hook()
    import _signal  # type: ignore[import-not-found]  # It has no types; `signal` takes 3 ms, in which Ctrl-C would leave a traceback

    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:  # A shell lets its background jobs ignore it.
        _signal.signal(_signal.SIGINT, lambda *_: os._exit(130))  # until `context.guard` begins
    if command == "block" and not os.isatty(1) and (prompt := _read_block_words(arguments)):
        from subcog_hooks.hook import dry_run

        os._exit(dry_run.print_block_for_prompt(*prompt))  # tearing the interpreter down takes 7 ms
    if command == "show":
        from subcog_hooks.hook import show_command

        if (code := show_command.print_memories(arguments)) is not None:
            os._exit(code)
    if arguments == ["statusline"]:
        from subcog_hooks.hook import status_line

        status_line.print_status()
        os._exit(0)
    if command == "search":
        from subcog_hooks.cli import searching

        searching.answer_and_exit(arguments)
    from subcog_hooks.cli.commands import run_command_line  # typer and rich take 120 ms to load

    run_command_line()


def _run_hook() -> None:
    """Answer a hook's payload, and end the process with exit code 0."""
    try:
        if not sys.flags.isolated and any(name.startswith("PYTHON") for name in os.environ):
            from subcog_hooks.core import child_environment  # a variable may lead the interpreter elsewhere

            child_environment.restart_isolated()
        translator = None
        if "--client" in sys.argv:
            from subcog_hooks.hook import translation

            translator = translation.find_translator(sys.argv)
        from subcog_hooks.hook import main as hook_main

        hook_main.main(translator)
    except BaseException as error:  # noqa: BLE001 - a broken installation must not cost the user a prompt
        _log_broken_installation(error)
        sys.exit(0)


def _log_broken_installation(error: BaseException) -> None:
    """Write to the log that the hook cannot be loaded, as far as a broken installation can."""
    try:
        from subcog_hooks.core import log
        from subcog_hooks.core.paths import find_home

        log.write_line(find_home()[0], f"the hook cannot be loaded: {type(error).__name__}: {error}; install subcog again")
    except BaseException:  # noqa: BLE001, S110 - there is nowhere left to report to
        pass


def _read_block_words(words: list[str]) -> tuple[str, bool, bool] | None:
    """Return the prompt of `subcog block`, and whether JSON and silence are wanted.

    None: the terminal has to answer.
    """
    rest = [word for word in words if word != _QUIET]
    if len(rest) not in (2, 3) or rest[0] != "block":
        return None
    options = {word for word in rest[1:] if word.startswith("-") and word != "-"}
    prompts = [word for word in rest[1:] if word not in options]
    return (prompts[0], bool(options), _QUIET in words) if len(prompts) == 1 and options <= {"--json"} else None


if __name__ == "__main__":
    main()
