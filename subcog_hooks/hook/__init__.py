"""The hook: answer an event of the client, from its payload to the printed block."""
