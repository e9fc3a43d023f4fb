"""Reading: what of a prompt was typed, and the words, stems, identifiers, acronyms and names of any text."""
