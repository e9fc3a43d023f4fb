"""Write the tables of the package that scripts fit."""

import os
from collections.abc import Sequence


def write_rows(module_file: str, name: str, rows: Sequence[Sequence[str]]) -> None:
    """Replace the rows of the table `name` beside a module, and keep its comments. module_file: the module's `__file__`."""
    path = os.path.join(os.path.dirname(module_file), name)
    with open(path, encoding="utf-8") as file:
        comments = [line for line in file if line.startswith("#")]
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.writelines([*comments, *("\t".join(row) + "\n" for row in rows)])
