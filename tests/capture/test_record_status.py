"""The status and the dates of a decision record, as people write them."""

import pytest

from subcog_hooks.capture.markdown_document import parse_date_ms, parse_status


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        ("accepted", ("Accepted", "✅ Approved", "accepted on 2024-10-05 by Ada", "Akzeptiert", "Acceptée", "Aceptado")),
        ("proposed", ("{ proposed }", "🤔 Proposed", "Brouillon", "Entwurf")),
        (
            "superseded",
            (
                *("superseded by [5](x.md) <!-- optional -->", "Superceded by ADR-9", "{ superseded by ADR-7 }"),
                *("Remplacée par l'ADR 7", "Ersetzt durch [7](7.md)", "Sustituida por 0007", "Accepted; replaced by RFC 12"),
            ),
        ),
        (
            "deprecated",
            ("Deprecated (no successor)", "**Deprecated** (2024-03-01).", "Invalidated by [12](12.md)", "Obsolète", "Veraltet"),
        ),
        (
            "rejected",
            (
                *("Rejected (see 2)", "~~Accepted~~ Withdrawn 2024-08-01", "Abgelehnt am 3. Mai 2024", "Rechazada"),
                "❌ Rejected (see [019](019-shared.md))",
            ),
        ),
    ],
)
def test_a_status_is_known_by_its_first_word(kind: str, texts: tuple[str, ...]) -> None:
    assert [text for text in texts if parse_status(text)[:2] != (kind, True)] == []


@pytest.mark.parametrize(
    "text",
    [
        *("superseded for the driver app; still holds for the web client", "Partly superseded by ADR-7"),
        *("Accepted, but will be superseded by the new gateway", "Deprecated except for the import"),
    ],
)
def test_a_restricted_end_is_none_and_keeps_its_words(text: str) -> None:
    assert parse_status(text) == ("", False, text)
    ended = parse_status("Superseded because the broker lost messages")
    assert (ended.has_ended, ended[1:3]) == (True, (False, "Superseded because the broker lost messages"))
    prose = ("Rejected messages go to the dead letter queue.", "Green", "", "2024-05-03", "{proposed | rejected | accepted}")
    assert [text for text in prose if parse_status(text).kind] == []


JUNE_2, MARCH_12 = 1_717_286_400_000, 1_741_737_600_000


@pytest.mark.parametrize(
    "text",
    [
        *("2024-06-02", "{ 2024-06-02 }", "[2024-06-02]", "2024-6-2", "2024/06/02", "accepted (2024-06-02)"),
        *("2024-06-02T00:00:00Z", "June 2, 2024", "Jun 2nd 2024", "2 June 2024", "2nd of June 2024", "Sunday, 2 June 2024"),
        *("2 juin 2024", "2. Juni 2024", "2 de junio de 2024", "2.6.2024", "[0.0.4] - 2024-06-02"),
    ],
)
def test_a_date_is_read_in_each_form(text: str) -> None:
    assert parse_date_ms(text) == JUNE_2


def test_the_order_of_numbers_is_never_guessed() -> None:
    assert parse_date_ms("12/03/2025") is None
    assert parse_date_ms("13/03/2025") == MARCH_12 + 86_400_000


@pytest.mark.parametrize(
    "text",
    [
        *("", "next spring", "2024", "1.2.3", "0.0.4", "10.20.30.2024", "2024-13-40", "1970-01-01", "May we go"),
        "version 2024-06-021",
    ],
)
def test_other_texts_are_no_date(text: str) -> None:
    assert parse_date_ms(text) is None
