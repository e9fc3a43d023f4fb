"""The intent of a prompt: whether it asks for something that memories could answer, and for what kind of thing."""
