"""Fit the weights of the relevance model, and judge them: `fit`."""
