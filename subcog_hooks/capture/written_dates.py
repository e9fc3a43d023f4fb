"""Dates that somebody wrote: `2024-06-20`, `20.6.2024`, `June 20th, 2024`, `20 juin 2024`."""

import re
import unicodedata
from datetime import UTC, datetime

from subcog_hooks.core.files import read_words

WORDS = read_words(__file__, "record_words.tsv")
MONTHS = {word: number for number in range(1, 13) for word in WORDS[f"month {number}"]}

_ARTICLE = re.compile(r"\b[ld]['’](?=\w)")  # `l'ADR`
_WORD = re.compile(r"[^\W_](?:[\w./:’'-]*\w)?|[.,;:()–—-]+")


def fold_words(text: str) -> list[str]:
    """Split a text into words without accents, in lower case, and its punctuation.

    >>> fold_words("Remplacée par l'ADR-7.")
    ['remplacee', 'par', 'adr-7', '.']
    """
    folded = _ARTICLE.sub("", unicodedata.normalize("NFKD", text).lower())
    return _WORD.findall("".join(letter for letter in folded if not unicodedata.combining(letter)))


MIN_YEAR, MAX_YEAR = 1990, 2100  # A year before is no date of a note: 1970 is the zero of a clock.

_ISO = re.compile(r"(?<![\d.])(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d|[-/.]\d)")
_COMPACT = re.compile(r"(?<!\d)((?:19|20)\d{2})(\d{2})(\d{2})(?!\d)")
_NUMBERS = re.compile(r"(?<![\d./-])(\d{1,2})([-/.])(\d{1,2})\2(\d{4})(?!\d|[-/.]\d)")
_ORDINAL = re.compile(r"(\d{1,2})(?:st|nd|rd|th|er|\.)?")
_YEAR = re.compile(r"\d{4}")


def parse_date_ms(text: str) -> int | None:
    """Return the first date in a text, in milliseconds since the epoch, UTC without a zone; None without a date.

    `03/05/2024` has two meanings, so it is no date; `25/05/2024` and `3.5.2024` are.

    >>> [parse_date_ms(text) for text in ("{ 2024-06-20 }", "September 20, 2024", "12 March 2025", "03/05/2024")]
    [1718841600000, 1726790400000, 1741737600000, None]
    """
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        pass
    else:
        return _moment_ms(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    if match := _ISO.search(text):
        return _day_ms(int(match[1]), int(match[3]), int(match[4]))
    if match := _NUMBERS.search(text):
        first, second, year = int(match[1]), int(match[3]), int(match[4])
        is_day_first = match[2] == "." or first > 12
        is_ambiguous = first <= 12 and second <= 12 and first != second and match[2] != "."
        return None if is_ambiguous else _day_ms(year, *((second, first) if is_day_first else (first, second)))
    return _date_in_words(text)


def file_name_date_ms(name: str) -> int | None:
    """Return the date at the beginning of a file's name, in milliseconds since the epoch.

    >>> file_name_date_ms("20240601-carts"), file_name_date_ms("2024-06-01_carts"), file_name_date_ms("0012-carts")
    (1717200000000, 1717200000000, None)
    """
    if match := _COMPACT.match(name):
        return _day_ms(int(match[1]), int(match[2]), int(match[3]))
    match = _ISO.match(name)
    return _day_ms(int(match[1]), int(match[3]), int(match[4])) if match else None


def _date_in_words(text: str) -> int | None:
    """Return the date of a month's name with a day and a year beside it."""
    tokens = [token for token in fold_words(text) if token[0].isalnum() and token not in ("of", "de", "the", "le")]
    for position, token in enumerate(tokens):
        if month := MONTHS.get(token):
            near = tokens[max(0, position - 1) : position] + tokens[position + 1 : position + 3]
            day = next((int(match[1]) for word in near if (match := _ORDINAL.fullmatch(word))), 0)
            year = next((int(word) for word in near if _YEAR.fullmatch(word)), 0)
            if day and year:
                return _day_ms(year, month, day)
    return None


def _day_ms(year: int, month: int, day: int) -> int | None:
    try:
        return _moment_ms(datetime(year, month, day, tzinfo=UTC))
    except ValueError:
        return None


def _moment_ms(moment: datetime) -> int | None:
    return int(moment.timestamp() * 1000) if MIN_YEAR <= moment.year <= MAX_YEAR else None
