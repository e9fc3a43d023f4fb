"""Whether a prompt asks for something that memories could answer, and what kind of thing."""
