"""The client: its settings files, our hook and our skills in them, and the notes that it keeps itself."""
