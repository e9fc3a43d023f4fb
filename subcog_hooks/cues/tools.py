"""The tools of the client that a hook heeds: conditions may name them, and the client is told to ask about them."""

TOOLS = ("Edit", "Write", "MultiEdit", "NotebookEdit", "Read", "Bash", "Grep", "Glob")
READING = "Read"  # which puts a file before the model
SEARCHES = ("Grep", "Glob")  # which look through files, and touch one only where their path names it
