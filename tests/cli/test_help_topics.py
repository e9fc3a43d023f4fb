"""`subcog help`: its topics are found, drawn and packaged; topics and README name existing commands and settings."""

import re

import pytest
import typer

from subcog_hooks.cli import help_topics
from subcog_hooks.settings.sources import KEYS
from tests.cli.conftest import Run, whole_application
from tests.documents import DOCUMENTS, README, TOPICS, blocks, code_in_sentences

NAMES = [document.stem for document in TOPICS]
SETTING = re.compile(rf"((?:{'|'.join(sorted({name.partition('.')[0] for name in KEYS}))})\.[a-z_]+)(?: = .*)?")
MAX_WORDS = 1_200  # of README
MAX_TOPICS, MAX_WORDS_OF_TOPICS = 8, 6_000
MAX_COMMAND = 78  # columns; a terminal of 80 draws it in one line


def test_topics_are_listed_with_a_line_each(subcog: Run) -> None:
    done = subcog("help")
    assert [line.split()[0] for line in done.out.splitlines()] == list(help_topics.TOPICS)
    assert sorted(help_topics.TOPICS) == NAMES
    assert all(re.fullmatch(r"[a-z]+ +[A-Z].+", line) for line in done.out.splitlines())
    assert "subcog help TOPIC" in done.err


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("PRIVATE", "`subcog help` lists the topics"),
        ("xyzzy", "`subcog help` lists the topics"),
        ("search", "`subcog search --help`"),
    ],
)
def test_unknown_topic_gets_a_suggestion(subcog: Run, word: str, hint: str) -> None:
    done = subcog("help", word)
    assert (done.code, done.out) == (2, "")
    assert f"no topic '{word}'" in done.err
    assert hint in done.err


def test_readme_is_short_and_links_every_topic() -> None:
    text = README.read_text(encoding="utf-8")
    assert len(text.split()) <= MAX_WORDS
    linked = re.findall(r"\[(\w+)\]\(subcog_hooks/cli/topics/(\w+)\.md\)", text)
    assert linked == [(name, name) for name in help_topics.TOPICS]


def test_topics_are_few_and_short() -> None:
    words = {name: len(document.read_text(encoding="utf-8").split()) for name, document in zip(NAMES, TOPICS, strict=True)}
    assert len(words) <= MAX_TOPICS
    assert sum(words.values()) <= MAX_WORDS_OF_TOPICS, words


def test_no_command_of_a_topic_is_broken_at_80_columns() -> None:
    commands = [line for document in TOPICS for block in blocks(document) if block.language == "sh" for line in block.lines]
    assert [line for line in commands if len(line) > MAX_COMMAND] == []


def test_figures_of_readme_stand_in_one_marked_place() -> None:
    text = README.read_text(encoding="utf-8")
    assert text.count("<!-- figures: begin -->\n|") == text.count("|\n<!-- figures: end -->\n") == 1


def test_commands_inside_sentences_exist_with_their_options(subtests: pytest.Subtests) -> None:
    for document in DOCUMENTS:
        with subtests.test(document=document):
            group = typer.main.get_command(whole_application())
            for code in code_in_sentences(document):
                words = code.split()
                if words[0] != "subcog" or len(words) == 1:
                    continue
                command, options = group, {"--debug", "--quiet"}
                while isinstance(command, typer.core.TyperGroup) and len(words) > 1 and words[1] in command.commands:
                    command = command.commands[words.pop(1)]
                options |= {name for parameter in command.params for name in parameter.opts} | {"--help"}
                if words[1:] and words[1] == "COMMAND":
                    continue
                assert command is not group or words[1].startswith("--"), f"{code}: there is no such command"
                assert {word for word in words if re.match(r"--?[a-z]", word)} <= options, f"{code}: there is no such option"


def test_topics_and_settings_that_are_named_exist(subtests: pytest.Subtests) -> None:
    for document in DOCUMENTS:
        with subtests.test(document=document):
            text = document.read_text(encoding="utf-8")
            assert set(re.findall(r"subcog help ([a-z]+)", text)) <= set(NAMES)
            named = {match[1] for code in code_in_sentences(document) if (match := SETTING.fullmatch(code))}
            assert named <= set(KEYS)


def test_links_within_the_repository_lead_to_files(subtests: pytest.Subtests) -> None:
    for document in DOCUMENTS:
        with subtests.test(document=document):
            for link in re.findall(r"\]\(([^)#]+)\)", document.read_text(encoding="utf-8")):
                assert link.startswith("https://") or (document.parent / link).is_file(), link
