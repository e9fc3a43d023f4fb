"""The models there are: chosen, pulled from a folder, refused in one line, removed."""

import os
import shutil
from pathlib import Path

import pytest

from subcog_hooks.core.errors import ModelError, UsageError
from subcog_hooks.core.paths import Home
from subcog_hooks.embed import models
from subcog_hooks.embed.multilingual_encoder import MultilingualEncoder
from subcog_hooks.embed.neural_encoder import DocumentEmbedder
from subcog_hooks.embed.space import PACKAGED, Space
from subcog_hooks.embed.static_encoder import StaticEncoder
from subcog_hooks.settings import loading
from tests.embed.conftest import OTHER, SPACE, WIDER, Counting

SLUG = "snowflake-snowflake-arctic-embed-xs"


def choose_with(home: Home, text: str = "") -> Space:
    home.create()
    Path(home.config).write_text(text)
    return models.chosen_space(home, loading.load(home))


def has_nothing_pulled(home: Home) -> bool:
    """Whether neither a model but the packaged one nor a part of one is there."""
    return models.installed_spaces(home) == [PACKAGED] and not left_behind(home)


def left_behind(home: Home) -> list[str]:
    """What remains of a pull that has ended."""
    return [path.name for path in Path(home.models).glob(f"{models.PARTIAL_PREFIX}*")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The packaged model's files, to be damaged."""
    return Path(shutil.copytree(SPACE.folder, tmp_path / "files"))


def test_the_packaged_model_is_there_in_an_empty_home_and_chosen(home: Home) -> None:
    assert models.installed_spaces(home) == [PACKAGED]
    assert choose_with(home) is PACKAGED
    assert models.missing_files(PACKAGED) == []
    models.verify_model(PACKAGED)
    assert models.checksum_of(PACKAGED.folder, models.REQUIRED_FILES) == models.PACKAGED_CHECKSUM


def test_vector_makers_change_with_the_files_and_the_recipe(home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    final, first = models.vector_makers(PACKAGED)
    assert (models.PACKAGED_CHECKSUM in final, len(first) > 8) == (True, True)
    pulled = models.pull_model(home, OTHER, str(folder))
    of_pulled = models.vector_makers(pulled)
    assert (of_pulled[0] not in ("", final), of_pulled[1]) == (True, "")
    models.remove_model(home, pulled)
    assert models.vector_makers(models.pull_model(home, OTHER, str(folder))) == of_pulled
    settings = (folder / "tokenizer_config.json").read_text()
    (folder / "tokenizer_config.json").write_text(settings + " ")
    models.remove_model(home, pulled)
    assert models.vector_makers(models.pull_model(home, OTHER, str(folder)))[0] != of_pulled[0]
    monkeypatch.setattr(models, "RECIPE", models.RECIPE + 1)
    assert all(now != then for now, then in zip(models.vector_makers(PACKAGED), (final, first), strict=True))


@pytest.mark.parametrize("encoder", [StaticEncoder, MultilingualEncoder])
def test_an_unreadable_encoder_leaves_the_makers_unknown(
    encoder: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoder, "packaged", str(tmp_path / "nowhere"))
    assert models.vector_makers(PACKAGED) == ("", "")


def test_a_model_from_a_folder_is_installed_with_what_it_needs(home: Home, folder: Path, embedder: Counting) -> None:
    (folder / "README.md").write_text("not needed")
    space = models.pull_model(home, OTHER.upper(), str(folder))
    assert (space.name, space.model, space.dimension) == (SLUG, OTHER, 384)
    assert [installed.name for installed in models.installed_spaces(home)] == ["minilm", SLUG]
    assert sorted(os.listdir(space.folder)) == [
        *("config.json", "onnx", "space.json", "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json")
    ]
    assert len(DocumentEmbedder(space).query("quay")) == 384
    assert left_behind(home) == []


def test_another_folder_or_dimension_is_refused(home: Home, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="nowhere is not a folder"):
        models.pull_model(home, OTHER, str(tmp_path / "nowhere"))
    with pytest.raises(ModelError, match=f"{WIDER} gives vectors of 384 dimensions, expected 768"):
        models.pull_model(home, WIDER, str(folder))
    assert has_nothing_pulled(home)


@pytest.mark.parametrize("name", ["tokenizer.json", "model.onnx", "tokenizer_config.json"])
def test_a_folder_with_a_damaged_file_is_refused_in_one_line(home: Home, folder: Path, name: str) -> None:
    os.truncate(folder / name, os.path.getsize(folder / name) // 2)
    with pytest.raises(ModelError, match=f"cannot be loaded from {folder}") as error:
        models.pull_model(home, OTHER, str(folder))
    assert "\n" not in str(error.value)
    assert has_nothing_pulled(home)


def test_an_unknown_name_is_refused(home: Home) -> None:
    with pytest.raises(UsageError, match=r"'bge-smal-en' is not a text model .*Supported_Models/ names all"):
        models.pull_model(home, "bge-smal-en", None)
    assert not os.path.exists(home.models)


def test_a_pull_replaces_only_a_damaged_model(home: Home, folder: Path, tmp_path: Path) -> None:
    space = models.pull_model(home, OTHER, str(folder))
    assert models.pull_model(home, OTHER, str(tmp_path / "nowhere")).folder == space.folder
    os.unlink(os.path.join(space.folder, "tokenizer.json"))
    assert models.missing_files(models.pull_model(home, OTHER, str(folder))) == []
    assert left_behind(home) == []
