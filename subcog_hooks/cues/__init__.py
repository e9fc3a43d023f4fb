"""When a memory names its moment: triggers and their literals, globs of paths, conditions."""
