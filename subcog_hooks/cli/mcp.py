"""`subcog mcp`: a server of the Model Context Protocol, for clients without hooks that carry text."""

from subcog_hooks.core.errors import ExtraMissing


def serve() -> None:
    """Give agents without hooks three tools, by the Model Context Protocol. A client runs this, not you.

    `recall` returns the text that the hook would give with a prompt, `show` prints memories, and `remember` stores a note of an
    agent. The server speaks on standard input and output, for the client's project. It needs the extra `subcog[mcp]`.
    """
    try:
        from subcog_hooks.cli import mcp_server  # An extra, which takes .4 s to load.
    except ImportError as error:
        raise missing_package() from error
    mcp_server.run_server()


def missing_package() -> ExtraMissing:
    """Return the error for an installation without the protocol's package."""
    return ExtraMissing("the server needs the package mcp, which is not installed", 'install "subcog[mcp]"')
