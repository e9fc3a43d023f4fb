"""The report as a page: its memories as cards, and a server on this machine that changes them."""
