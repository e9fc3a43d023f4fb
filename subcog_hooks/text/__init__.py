"""Reading: the typed part of a prompt, and the words, stems, identifiers, acronyms and names of any text."""
