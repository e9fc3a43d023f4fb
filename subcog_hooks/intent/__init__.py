"""The intent of a prompt: whether memories could answer it, and the type of the question."""
