"""Ranks the first results of a search by a language model (`search --rank`)."""

from dataclasses import dataclass, field

from subcog_hooks.cli.terminal import context
from subcog_hooks.core.errors import ProviderError
from subcog_hooks.llm import ask, providers
from subcog_hooks.llm.providers import Provider
from subcog_hooks.recall.hits import Answer
from subcog_hooks.store import state_values

RANK_S = 60.0  # timeout of the call


@dataclass(slots=True)
class ModelRanking:
    """The ranking of an answer by a model. depth: the number of hits that the model sees.

    by: the provider and model, "" before a ranking; places: rank by memory id; note: why no ranking was made, "" otherwise.
    """

    provider: Provider
    depth: int = 15  # S3
    by: str = ""
    note: str = ""
    places: dict[str, int] = field(default_factory=dict)

    def order(self, query: str, answer: Answer, count: int) -> None:
        """Put the hits that a model names first, and truncate the answer to `count` hits.

        The order stays where no ranking is possible. Raises StoreError.
        """
        notes = [hit.memory for hit in answer.hits[: self.depth]]
        if notes:
            try:
                with context.open_state() as state:
                    ids = ask.rank_notes(
                        state_values.RANKING_JOB, query, notes, self.provider, state, context.settings(), RANK_S
                    )
                self.by = f"{self.provider.name} ({self.provider.model})"
                self.places = {id_: rank for rank, id_ in enumerate(ids, 1)}
            except ProviderError as error:
                self.note = f"not ranked: {error.message}"
        answer.hits = sorted(answer.hits, key=lambda hit: self.places.get(hit.memory.id, len(answer.hits)))[:count]
        answer.end = min(answer.end, count)


def open_ranking() -> ModelRanking:
    """Return a ranking by the model of `llm.at_rest`. Raises ProviderError where none is chosen, ConfigError."""
    provider = providers.background_provider(context.settings(), context.home())
    if provider is None:
        raise ProviderError("llm.at_rest is none, so no model can rank", "choose one: `subcog config set llm.at_rest claude`")
    return ModelRanking(provider)
