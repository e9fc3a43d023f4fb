"""Suggestions for memories: questions, keywords, contradictions, from a language model or from what second looks found."""
