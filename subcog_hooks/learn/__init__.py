"""Sessions become memories: transcripts, detector, proposals and storing."""
