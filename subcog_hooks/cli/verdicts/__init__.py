"""The hook's verdicts, looked up and explained."""
