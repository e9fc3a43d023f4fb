"""Fit the weights of the intent signals, and judge them: `fit`."""
