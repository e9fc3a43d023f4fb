"""The checks of `subcog doctor`."""
