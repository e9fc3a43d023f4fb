"""Learning from sessions: transcripts into typed turns, typed turns into proposals of what is worth remembering."""
