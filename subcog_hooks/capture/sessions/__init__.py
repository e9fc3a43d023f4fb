"""What is said in sessions: transcripts into typed turns, typed turns into proposals of what is worth remembering."""
