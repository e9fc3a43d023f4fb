"""Settings: the keys with their types and defaults, the files and variables that set them, the values in force."""
