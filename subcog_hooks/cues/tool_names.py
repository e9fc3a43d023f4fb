"""The tools of the client that a hook handles: conditions may name them, and the client calls the hook for them."""

TOOLS = ("Edit", "Write", "MultiEdit", "NotebookEdit", "Read", "Bash", "Grep", "Glob")
READING = "Read"  # It shows the model a file.
SEARCHES = ("Grep", "Glob")  # They search files, and touch a file only if their path names it.
