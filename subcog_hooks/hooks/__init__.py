"""Claude Code's side: payloads in, outputs out."""
