"""Claude Code's transcripts, as `learn` and `audit` read them and tell of them."""
