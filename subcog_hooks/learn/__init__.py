"""Learning from sessions: proposals from transcripts that wait for the person."""
