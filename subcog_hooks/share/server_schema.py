"""The tables on the team's server, and the rights of each role.

Everything lies in the schema `subcog`. Triggers, not clients, give revisions, authors and the versions that lose a conflict,
so that no client can forge or forget them.
"""

from __future__ import annotations

from dataclasses import dataclass

from subcog_hooks.core.errors import ServerError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.share.server_connection import Connection

DIMENSION = 384  # of the packaged model's vectors
MAX_DOCUMENT = 200_000  # bytes of a shared memory; an import cuts longer texts at their headings
LOST_PREFIX = "lost-"  # begins the id of a version that lost a conflict
KEPT_OWN_PREFIX = "kept-"  # begins the id of a user's version that a colleague replaced: it stays on this machine
VERSION = 4  # The version of the tables.

_TABLES = f"""
CREATE TABLE subcog.server (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), version int NOT NULL);
INSERT INTO subcog.server (version) VALUES ({VERSION});
CREATE SEQUENCE subcog.revisions;

CREATE TABLE subcog.memories (
  project text NOT NULL CHECK (length(project) BETWEEN 1 AND 1000),
  id text NOT NULL CHECK (id ~ '^[A-Za-z0-9._-]{{1,64}}$'),
  revision bigint NOT NULL,  -- rises in the order in which transactions commit: writers hold one lock
  author text NOT NULL,  -- the role that wrote this version
  base bigint,  -- the revision that its author had seen; NULL for none
  doc jsonb CHECK (octet_length(doc::text) <= {2 * MAX_DOCUMENT}),  -- NULL: deleted
  erased boolean NOT NULL DEFAULT false,  -- deleted for good, everywhere
  lost_to text,  -- the id of the memory whose later version took this one's place
  content_hash text,  -- subcog's own, which its vectors name
  language regconfig NOT NULL DEFAULT 'english',
  namespace text GENERATED ALWAYS AS (doc ->> 'namespace') STORED,
  status text GENERATED ALWAYS AS (coalesce(doc ->> 'status', 'active')) STORED,
  bytes int GENERATED ALWAYS AS (coalesce(octet_length(doc::text), 0)) STORED,
  words tsvector GENERATED ALWAYS AS (to_tsvector(language, coalesce(doc ->> 'content', ''))) STORED,
  PRIMARY KEY (project, id),
  CHECK (NOT erased OR doc IS NULL),
  CHECK (doc IS NULL OR coalesce(jsonb_typeof(doc -> 'content') = 'string', false))
);
CREATE INDEX memories_by_revision ON subcog.memories (project, revision);
CREATE INDEX memories_by_words ON subcog.memories USING gin (words);

-- A revision is the server's clock in microseconds, so none counts twice after a restore from a backup.
CREATE FUNCTION subcog.take_turn() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('subcog.memories'));  -- to the end of the transaction
  PERFORM setval('subcog.revisions', greatest(last_value, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint))
  FROM subcog.revisions;
  RETURN NULL;
END $$;
CREATE TRIGGER take_turn BEFORE INSERT OR UPDATE ON subcog.memories
FOR EACH STATEMENT EXECUTE FUNCTION subcog.take_turn();

CREATE FUNCTION subcog.stamp() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  lost text;
BEGIN
  NEW.revision := nextval('subcog.revisions');
  IF TG_OP = 'INSERT' AND NEW.lost_to IS NOT NULL THEN
    RETURN NEW;  -- a version that lost, as it is put aside below: it keeps its author; no writer may set the column
  END IF;
  NEW.author := session_user;
  IF TG_OP = 'INSERT' THEN
    RETURN NEW;
  END IF;
  IF (NEW.project, NEW.id) <> (OLD.project, OLD.id) THEN
    RAISE EXCEPTION 'a memory keeps its project and id';
  END IF;
  NEW.lost_to := OLD.lost_to;
  IF OLD.erased THEN
    NEW.erased := true;
    NEW.author := OLD.author;  -- whoever writes to it since has not erased it
  END IF;
  IF NEW.erased THEN
    NEW.doc := NULL;
    NEW.content_hash := NULL;
  ELSIF OLD.doc IS NOT NULL AND OLD.doc IS DISTINCT FROM NEW.doc AND NEW.base IS DISTINCT FROM OLD.revision THEN
    lost := '{LOST_PREFIX}' || substr(encode(sha256(convert_to(
      OLD.project || chr(10) || OLD.id || chr(10) || OLD.doc::text, 'UTF8')), 'hex'), 1, 24);
    INSERT INTO subcog.memories (project, id, author, doc, lost_to, content_hash, language)
    VALUES (OLD.project, lost, OLD.author,
            OLD.doc || jsonb_build_object('status', 'superseded', 'superseded_by', OLD.id), OLD.id, OLD.content_hash,
            OLD.language)
    ON CONFLICT DO NOTHING;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER stamp BEFORE INSERT OR UPDATE ON subcog.memories FOR EACH ROW EXECUTE FUNCTION subcog.stamp();

REVOKE ALL ON FUNCTION subcog.take_turn(), subcog.stamp() FROM PUBLIC;

-- how many memories have a word, as ANALYZE has it: without a scan
ALTER TABLE subcog.memories ALTER words SET STATISTICS 1000;
CREATE FUNCTION subcog.count_words(asked text[]) RETURNS TABLE (lexeme text, count float8, total float8)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  WITH known AS (
    SELECT most_common_elems::text::text[] AS elements, most_common_elem_freqs AS shares FROM pg_stats
    WHERE schemaname = 'subcog' AND tablename = 'memories' AND attname = 'words'
  ), counted AS (
    SELECT element, share FROM known, unnest(elements, shares[1:cardinality(elements)]) AS of_word (element, share)
  ), least AS (
    SELECT shares[cardinality(elements) + 1] AS share FROM known
  ), size AS (
    SELECT greatest(reltuples, 1)::float8 AS total FROM pg_class WHERE oid = 'subcog.memories'::regclass
  )
  SELECT word, coalesce((SELECT share FROM counted WHERE element = word), (SELECT share FROM least) / 2, 0) * total, total
  FROM unnest(asked) AS word, size
$$;
"""  # noqa: S608 - constants

# All signs of a project are read from the index alone: 48 bytes of a vector instead of 1,536.
_SIGNS = f"signs bit({DIMENSION}) GENERATED ALWAYS AS (%s.binary_quantize(embedding)::bit({DIMENSION})) STORED"
_SIGNS_INDEX = "CREATE INDEX vectors_signs ON subcog.vectors (project, model) INCLUDE (signs, id, part);"

# This table needs the extension, which a database can get later. It holds the packaged model's int8 vectors: part 0 is the
# vector of the whole text, the other parts belong to its passages.
VECTORS = f"""
CREATE TABLE subcog.vectors (
  project text NOT NULL,
  id text NOT NULL,
  part smallint NOT NULL CHECK (part BETWEEN 0 AND 255),
  model text NOT NULL,
  content_hash text NOT NULL,
  embedding {{schema}}.vector({DIMENSION}) NOT NULL,
  {_SIGNS % "{schema}"},
  PRIMARY KEY (project, id, part),
  FOREIGN KEY (project, id) REFERENCES subcog.memories
);
{_SIGNS_INDEX}
"""
_GRANTS = ("GRANT USAGE ON SCHEMA subcog TO {role}", "GRANT SELECT ON subcog.server, subcog.memories TO {role}")
_WRITE_GRANTS = (
    "GRANT INSERT (project, id, base, doc, content_hash, language) ON subcog.memories TO {role}",
    "GRANT UPDATE (base, doc, erased, content_hash, language) ON subcog.memories TO {role}",
)
_VECTOR_GRANTS = ("GRANT SELECT ON subcog.vectors TO {role}",)
_VECTOR_WRITE_GRANTS = ("GRANT INSERT, DELETE, UPDATE ON subcog.vectors TO {role}",)


@dataclass(frozen=True, slots=True)
class TeamTables:
    """The state of the server.

    server: its id, "" without tables; vector_schema: the schema of the extension, "" without it; role: the connected role.
    may_write, may_make: the role may write rows, make tables.
    """

    server: str
    version: int
    vector_schema: str
    role: str
    has_vectors: bool
    may_write: bool
    may_make: bool

    @property
    def vector_type(self) -> str:
        """The name of the type of vectors, with its schema and dimension."""
        return f"{quote_name(self.vector_schema)}.vector({DIMENSION})"


def quote_name(name: str) -> str:
    """Quote a name for SQL.

    >>> quote_name('a"; DROP TABLE b')
    '"a""; DROP TABLE b"'
    """
    return '"' + name.replace('"', '""') + '"'


def read_tables(connection: Connection) -> TeamTables:
    """Return the state of the server's tables, and the connected role."""
    row = connection.execute(
        "SELECT to_regclass('subcog.server') IS NOT NULL,"
        " coalesce((SELECT nspname FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace"
        " WHERE extname = 'vector'), ''), session_user, to_regclass('subcog.vectors') IS NOT NULL,"
        " coalesce(has_column_privilege(to_regclass('subcog.memories'), 'doc', 'INSERT'), false),"
        " coalesce(has_schema_privilege(to_regnamespace('subcog')::oid, 'CREATE'), true)"
    ).fetchone()
    assert row is not None
    has_tables, *row_of_tables = row
    server = "", 0
    if has_tables and (server_row := connection.execute("SELECT id::text, version FROM subcog.server").fetchone()):
        server = server_row
    return TeamTables(*server, *row_of_tables)


def require_tables(connection: Connection) -> TeamTables:
    """Return the state of the server's tables. Raises ServerError unless they have this version."""
    tables = read_tables(connection)
    if not tables.version:
        raise ServerError("the server has no team's memory yet", "`subcog share init` makes it")
    if tables.version != VERSION:
        anew = "its owner drops the schema subcog and runs `subcog share init`; all send their memories again"
        raise ServerError(
            f"the server's tables are of version {tables.version}, this subcog knows {VERSION}",
            "upgrade subcog; nothing is lost" if tables.version > VERSION else anew,
        )
    return tables


_OTHER_OWNER = (
    "SELECT pg_get_userbyid(nspowner) FROM pg_namespace JOIN pg_roles AS asking ON asking.rolname = session_user"
    " WHERE nspname = 'subcog' AND nspowner <> asking.oid"
    " AND (asking.rolsuper OR NOT pg_has_role(asking.oid, nspowner, 'USAGE'))"
)


def plan_setup(
    connection: Connection, tables: TeamTables, writers: Sequence[str] = (), readers: Sequence[str] = ()
) -> list[tuple[str, str]]:
    """Return the steps that the server and new roles need, in words and SQL. Raises ServerError for another version."""
    if tables.version not in (0, VERSION):
        require_tables(connection)
    steps: list[tuple[str, str]] = []
    if not tables.version:
        if owner := connection.execute(_OTHER_OWNER).fetchone():  # The owner of a schema can drop all its tables.
            raise ServerError(f"the schema subcog belongs to {owner[0]}", "who is to own the tables makes it, or is given it")
        steps.append(("the schema subcog, readable by nobody else", "CREATE SCHEMA IF NOT EXISTS subcog"))
        steps.append(("its table of memories, with the triggers that give revisions and authors", _TABLES))
    has_vectors = tables.has_vectors
    if not has_vectors and tables.may_make:
        schema = tables.vector_schema
        is_available = "SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"
        if not schema and connection.execute(is_available).fetchone():
            schema = "public"
            steps.append(("the extension vector (pgvector), in the schema public", "CREATE EXTENSION vector SCHEMA public"))
        if schema:
            steps.append(("the table of vectors", VECTORS.format(schema=quote_name(schema))))
            has_vectors = True
    for role in (*writers, *readers):
        grants = _GRANTS + (_VECTOR_GRANTS if has_vectors else ())
        if role in writers:
            grants += _WRITE_GRANTS + (_VECTOR_WRITE_GRANTS if has_vectors else ())
        rights = "reading and writing" if role in writers else "reading"
        sql = ";\n".join(grants).format(role=quote_name(role))
        steps.append((f"for the role {role}: {rights} these tables, the memories of all projects, nothing else", sql))
    return steps


def run_plan(connection: Connection, steps: Sequence[tuple[str, str]]) -> None:
    """Run all of a plan, or nothing of it."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(hashtext('subcog.schema'))")
        for _, sql in steps:
            connection.execute(sql.encode())
