"""The hook: what happens at an event, from the payload to the printed block."""
