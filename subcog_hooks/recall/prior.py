"""What a prompt's intent makes likelier before anything is read: a bounded prior over namespaces (DESIGN section 6). Pure."""

FAVOURED = {  # namespaces by type of intent
    "howto": ("patterns", "learnings"),
    "troubleshoot": ("blockers", "learnings"),
    "location": ("config", "context"),
    "explanation": ("decisions", "patterns"),
    "comparison": ("decisions", "patterns"),
}


def raised(relevance: float, namespace: str, intent: str, factor: float) -> float:
    """The relevance of a memory in `namespace` for a prompt of this intent: up to `factor` times as much, at most 1.0.

    factor: below 2.0, so that no memory passes one with twice its relevance.

    >>> raised(0.4, "patterns", "howto", 1.5), raised(0.4, "config", "howto", 1.5), raised(0.9, "patterns", "howto", 1.5)
    (0.6, 0.4, 1.0)
    """
    return round(min(1.0, relevance * (factor if namespace in FAVOURED.get(intent, ()) else 1.0)), 4)
