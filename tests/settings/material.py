"""Helpers for the tests of this folder: writing a file, and values that loosen or tighten a setting."""

import os


def write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


LOOSE = (  # key, a value that would loosen its default, one that tightens it
    ("surfacing.enabled", None, False),
    ("surfacing.tools", None, False),
    ("surfacing.session_start", None, False),
    ("surfacing.min_relevance", 0.1, 0.5),
    ("surfacing.maybe_relevance", 0.01, 0.0),
    ("surfacing.max_memories", None, 2),
    ("surfacing.brief_characters", 6_000, 300),
    ("surfacing.max_characters", 9_900, 300),
    ("surfacing.session_characters", 900_000, 900),
    ("search.min_similarity", 0.0, 0.6),
    ("search_intent.enabled", None, False),
    ("search_intent.min_confidence", 0.0, 0.9),
    ("search_intent.llm_skip_confidence", 1.0, 0.1),
    ("project.parents", None, False),
)
