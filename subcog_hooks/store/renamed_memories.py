"""New ids of memories in state.db, so that suggestions and statistics stay with memories whose file has another name."""

from __future__ import annotations

from subcog_hooks.core import light_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from subcog_hooks.store.state import State

_TABLES = ("ledger", "pointers", "suggestions", "sought", "enriched")
_COLUMNS = (*((table, "memory") for table in _TABLES), ("suggestions", "value"))


def rename_memories(state: State, new_ids: Mapping[str, str]) -> None:
    """Replace the ids of memories. new_ids: by the old ones. Raises StoreError."""
    import re  # the hook renames nothing

    ids = light_json.dumps(dict(new_ids))
    for table, column in _COLUMNS:
        state.run(
            f"UPDATE OR REPLACE {table} SET {column} = (SELECT value FROM json_each(?) WHERE key = {column})"  # noqa: S608 - constants
            f" WHERE {column} IN (SELECT key FROM json_each(?))",
            (ids, ids),
        )
    id_in_record = re.compile('(?<=")[^"]+(?=")')
    for number, record in state.run("SELECT number, record FROM decisions WHERE instr(record, '\"md-') > 0"):
        renamed = id_in_record.sub(lambda name: new_ids.get(name[0], name[0]), str(record))
        if renamed != record:
            state.run("UPDATE decisions SET record = ? WHERE number = ?", (renamed, number))
