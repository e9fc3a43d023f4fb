"""The page builder of `audit --html` and `report --html`: one file that needs nothing else, and in which no text can act."""
