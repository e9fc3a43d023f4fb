"""The readers of translated texts: catalogues, help, descriptions and a compiler's messages, paired with English originals."""

import struct
import zipfile
from pathlib import Path

import pytest

from scripts.encoder import translations
from scripts.encoder.translations import Pair


def catalogue(messages: dict[str, str], order: str = "<") -> bytes:
    """A compiled gettext catalogue."""
    encoded = [(original.encode(), translation.encode()) for original, translation in messages.items()]
    start = 28 + 16 * len(encoded)
    tables: list[bytes] = []
    texts = b""
    for column in (0, 1):
        for pair in encoded:
            tables.append(struct.pack(order + "2I", len(pair[column]), start + len(texts)))
            texts += pair[column] + b"\0"
    header = struct.pack(order + "7I", 0x950412DE, 0, len(encoded), 28, 28 + 8 * len(encoded), 0, 0)
    return header + b"".join(tables) + texts


def archive(path: Path, files: dict[str, bytes]) -> str:
    with zipfile.ZipFile(path, "w") as made:
        for name, content in files.items():
            made.writestr(name, content)
    return str(path)


@pytest.mark.parametrize("order", ["<", ">"])
def test_a_catalogue_gives_singulars_plurals_and_no_contexts(order: str) -> None:
    content = catalogue({"menu\x04Open": "Öffnen", "%d file\0%d files": "%d plik\0%d pliki\0%d plików"}, order)
    assert list(translations.read_catalogue(content, "pl")) == [
        Pair("pl", "Open", "Öffnen"),
        Pair("pl", "%d file", "%d plik"),
        Pair("pl", "%d files", "%d plików"),
    ]


def test_catalogues_of_a_package_are_gathered_by_language(tmp_path: Path) -> None:
    def message(text: str) -> bytes:
        return catalogue({"": "Language", "_Save the file": text})

    package = archive(
        tmp_path / "editor-1-.whl",
        {
            "usr/share/locale/de/LC_MESSAGES/editor.mo": message("Datei _speichern"),
            "usr/share/locale/pt_BR/LC_MESSAGES/editor.mo": message("Salvar o arquivo"),
            "usr/share/locale/pt/LC_MESSAGES/editor.mo": message("Guardar o ficheiro"),
            "usr/share/locale/sv/LC_MESSAGES/editor.mo": message("Spara filen"),
            "usr/share/locale/ja/LC_MESSAGES/editor.mo": message("ファイルを保存(_S)"),
            "usr/share/wordpress/languages/ko_KR.mo": message("파일 저장"),
            "usr/share/locale/fr/LC_MESSAGES/editor.mo": message("_Save the file"),
        },
    )
    assert translations.gather([package]) == {
        "Save the file": {"de": "Datei speichern", "pt": "Guardar o ficheiro", "ja": "ファイルを保存", "ko": "파일 저장"}
    }


def test_paragraphs_of_help_are_paired_by_their_numbers(tmp_path: Path) -> None:
    page = '<p id="par_1" class="x" dir="auto">{}</p><p class="y">{}</p><h1 id="hd_2" dir="auto">{}</h1>'
    files = {
        "usr/share/libreoffice/help/en-US/text/a.html": page.format(
            "Open the <b>dialog</b>.", "Without number", "Heading here"
        ),
        "usr/share/libreoffice/help/de/text/a.html": page.format("Öffnen Sie den Dialog.", "Ohne Nummer", "Überschrift"),
        "usr/share/libreoffice/help/de/text/b.html": page.format("Ohne Original", "", "Auch ohne"),
    }
    parts = [archive(tmp_path / f"{number}-.whl", {name: text.encode()}) for number, (name, text) in enumerate(files.items())]
    assert translations.gather(parts) == {
        "Open the dialog.": {"de": "Öffnen Sie den Dialog."},
        "Heading here": {"de": "Überschrift"},
    }
