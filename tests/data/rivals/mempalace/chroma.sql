-- MemPalace 3.11.0 (PyPI) with chromadb 1.5.9: the tools add_drawer, delete_drawer and diary_write of its MCP server, then
-- `mempalace mine` over a folder, and over a transcript as exchanges and with `--extract general`. Its embeddings came from a server
-- on this machine that made them of hashes. Vectors, full text, queues, migrations and indexes are left out.

CREATE TABLE "collections" (
    id TEXT PRIMARY KEY, -- unique globally
    name TEXT NOT NULL, -- unique per database
    dimension INTEGER,
    database_id TEXT NOT NULL REFERENCES databases(id) ON DELETE CASCADE, config_json_str TEXT, schema_str TEXT,
    UNIQUE (name, database_id)
);
INSERT INTO collections VALUES ('fd5531b6-b32d-419b-9ec4-bfd1af454f2b', 'mempalace_drawers', 32, '00000000-0000-0000-0000-000000000000', '{"_type": "CollectionConfigurationInternal"}', '{"defaults":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}},"float_list":{"vector_index":{"enabled":false,"config":{"space":"cosine","embedding_function":{"type":"legacy"},"hnsw":{"ef_construction":100,"max_neighbors":16,"ef_search":100,"num_threads":1,"batch_size":100,"sync_threshold":1000,"resize_factor":1.2}}}},"sparse_vector":{"sparse_vector_index":{"enabled":false,"config":{"embedding_function":{"type":"unknown"},"bm25":false}}},"int":{"int_inverted_index":{"enabled":true,"config":{}}},"float":{"float_inverted_index":{"enabled":true,"config":{}}},"bool":{"bool_inverted_index":{"enabled":true,"config":{}}}},"keys":{"agent":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"room":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"#embedding":{"float_list":{"vector_index":{"enabled":true,"config":{"space":"cosine","embedding_function":{"type":"legacy"},"source_key":"#document","hnsw":{"ef_construction":100,"max_neighbors":16,"ef_search":100,"num_threads":1,"batch_size":100,"sync_threshold":1000,"resize_factor":1.2}}}}},"ingest_mode":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"chunk_index":{"int":{"int_inverted_index":{"enabled":true,"config":{}}}},"content_date":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"source_file":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"topic":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"line_end":{"int":{"int_inverted_index":{"enabled":true,"config":{}}}},"source_dir_ino":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"filed_at":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"last_modified":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"content_date_source":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"content_hash":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"added_by":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"normalize_version":{"int":{"int_inverted_index":{"enabled":true,"config":{}}}},"#document":{"string":{"fts_index":{"enabled":true,"config":{}},"string_inverted_index":{"enabled":false,"config":{}}}},"line_start":{"int":{"int_inverted_index":{"enabled":true,"config":{}}}},"id_recipe":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"date":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"hall":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"chunk_total":{"int":{"int_inverted_index":{"enabled":true,"config":{}}}},"wing":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"authored_at":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"entities":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"convo_chunker_version":{"int":{"int_inverted_index":{"enabled":true,"config":{}}}},"source_mtime":{"float":{"float_inverted_index":{"enabled":true,"config":{}}}},"parent_drawer_id":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"extract_mode":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"type":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}}}}');
INSERT INTO collections VALUES ('43102a08-ed56-4c04-aa8e-eafd8b05944a', 'mempalace_closets', 32, '00000000-0000-0000-0000-000000000000', '{}', '{"defaults":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}},"float_list":{"vector_index":{"enabled":false,"config":{"space":"cosine","embedding_function":{"type":"legacy"},"hnsw":{"ef_construction":100,"max_neighbors":16,"ef_search":100,"num_threads":1,"batch_size":100,"sync_threshold":1000,"resize_factor":1.2}}}},"sparse_vector":{"sparse_vector_index":{"enabled":false,"config":{"embedding_function":{"type":"unknown"},"bm25":false}}},"int":{"int_inverted_index":{"enabled":true,"config":{}}},"float":{"float_inverted_index":{"enabled":true,"config":{}}},"bool":{"bool_inverted_index":{"enabled":true,"config":{}}}},"keys":{"#document":{"string":{"fts_index":{"enabled":true,"config":{}},"string_inverted_index":{"enabled":false,"config":{}}}},"filed_at":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"drawer_count":{"int":{"int_inverted_index":{"enabled":true,"config":{}}}},"source_file":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"room":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"last_modified":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"#embedding":{"float_list":{"vector_index":{"enabled":true,"config":{"space":"cosine","embedding_function":{"type":"legacy"},"source_key":"#document","hnsw":{"ef_construction":100,"max_neighbors":16,"ef_search":100,"num_threads":1,"batch_size":100,"sync_threshold":1000,"resize_factor":1.2}}}}},"wing":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"normalize_version":{"int":{"int_inverted_index":{"enabled":true,"config":{}}}},"entities":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}}}}');

CREATE TABLE "segments" (
    id TEXT PRIMARY KEY,
    type TEXT NOT NULL,
    scope TEXT NOT NULL,
    collection TEXT REFERENCES collection(id) NOT NULL
);
INSERT INTO segments VALUES ('2da275bf-3a2b-4a49-958d-53e88d97a113', 'urn:chroma:segment/vector/hnsw-local-persisted', 'VECTOR', 'fd5531b6-b32d-419b-9ec4-bfd1af454f2b');
INSERT INTO segments VALUES ('1c0acfd5-3097-4d62-9839-2435e4474856', 'urn:chroma:segment/metadata/sqlite', 'METADATA', 'fd5531b6-b32d-419b-9ec4-bfd1af454f2b');
INSERT INTO segments VALUES ('18d59b88-4402-4c08-b8a3-13a61aa51c25', 'urn:chroma:segment/vector/hnsw-local-persisted', 'VECTOR', '43102a08-ed56-4c04-aa8e-eafd8b05944a');
INSERT INTO segments VALUES ('27b53d29-09cc-4938-94f2-c87ba2978b47', 'urn:chroma:segment/metadata/sqlite', 'METADATA', '43102a08-ed56-4c04-aa8e-eafd8b05944a');

CREATE TABLE embeddings (
    id INTEGER PRIMARY KEY,
    segment_id TEXT NOT NULL,
    embedding_id TEXT NOT NULL,
    seq_id BLOB NOT NULL,
    created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    UNIQUE (segment_id, embedding_id)
);
INSERT INTO embeddings VALUES (1, '1c0acfd5-3097-4d62-9839-2435e4474856', 'drawer_shop_decisions_5078525603e5d7912f496d7f', 1, '2026-11-24 02:08:57');
INSERT INTO embeddings VALUES (2, '1c0acfd5-3097-4d62-9839-2435e4474856', 'drawer_shop_backend_f64b09553e570acaa5ae33f9', 2, '2026-11-24 02:08:57');
INSERT INTO embeddings VALUES (4, '1c0acfd5-3097-4d62-9839-2435e4474856', 'drawer_person_preferences_73daaacc4a0006ef2c49ba1a', 4, '2026-11-24 02:08:57');
INSERT INTO embeddings VALUES (5, '1c0acfd5-3097-4d62-9839-2435e4474856', 'drawer_shop_long_ff083fbd2a6a0d4b6b34dff3_chunk_000000', 5, '2026-11-24 02:08:57');
INSERT INTO embeddings VALUES (6, '1c0acfd5-3097-4d62-9839-2435e4474856', 'drawer_shop_long_ff083fbd2a6a0d4b6b34dff3_chunk_000001', 6, '2026-11-24 02:08:57');
INSERT INTO embeddings VALUES (7, '1c0acfd5-3097-4d62-9839-2435e4474856', 'drawer_shop_long_ff083fbd2a6a0d4b6b34dff3_chunk_000002', 7, '2026-11-24 02:08:57');
INSERT INTO embeddings VALUES (8, '1c0acfd5-3097-4d62-9839-2435e4474856', 'drawer_shop_long_ff083fbd2a6a0d4b6b34dff3_chunk_000003', 8, '2026-11-24 02:08:57');
INSERT INTO embeddings VALUES (9, '1c0acfd5-3097-4d62-9839-2435e4474856', 'diary_shop_20261124_020857763269_6789ffa99763', 10, '2026-11-24 02:08:57');
INSERT INTO embeddings VALUES (10, '1c0acfd5-3097-4d62-9839-2435e4474856', 'drawer_palproj_general_ee610e57c553fa36dbe3279b', 11, '2026-11-24 02:09:32');
INSERT INTO embeddings VALUES (11, '27b53d29-09cc-4938-94f2-c87ba2978b47', 'closet_palproj_general_c7ff14393ffcea37bded1b3e_01', 12, '2026-11-24 02:09:32');
INSERT INTO embeddings VALUES (12, '1c0acfd5-3097-4d62-9839-2435e4474856', 'drawer_palchat_decisions_2c3b789d58fea3bbd6cce77a', 13, '2026-11-24 02:09:34');
INSERT INTO embeddings VALUES (13, '1c0acfd5-3097-4d62-9839-2435e4474856', 'drawer_palchat_decisions_8d7bc5dc3e21f354b8c5cb62', 14, '2026-11-24 02:09:34');
INSERT INTO embeddings VALUES (14, '1c0acfd5-3097-4d62-9839-2435e4474856', 'drawer_general_decision_3cdd2a84911813fd57569562', 15, '2026-11-24 02:09:35');

CREATE TABLE embedding_metadata (
    id INTEGER REFERENCES embeddings(id),
    key TEXT NOT NULL,
    string_value TEXT,
    int_value INTEGER,
    float_value REAL, bool_value INTEGER,
    PRIMARY KEY (id, key)
);
INSERT INTO embedding_metadata VALUES (1, 'filed_at', '2026-11-24T02:08:57.381132', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (1, 'room', 'decisions', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (1, 'last_modified', '2026-11-24T02:08:57.381132', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (1, 'chroma:document', 'We decided to keep prices in cents because the bank refuses fractions of one.', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (1, 'id_recipe', 'v3', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (1, 'source_file', '', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (1, 'chunk_index', NULL, 0, NULL, NULL);
INSERT INTO embedding_metadata VALUES (1, 'wing', 'shop', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (1, 'added_by', 'human', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (2, 'last_modified', '2026-11-24T02:08:57.511445', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (2, 'id_recipe', 'v3', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (2, 'room', 'backend', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (2, 'wing', 'shop', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (2, 'added_by', 'mcp', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (2, 'chunk_index', NULL, 0, NULL, NULL);
INSERT INTO embedding_metadata VALUES (2, 'filed_at', '2026-11-24T02:08:57.511445', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (2, 'source_file', '', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (2, 'chroma:document', 'The worker reads its queue name at its start only.', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (4, 'wing', 'person', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (4, 'room', 'preferences', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (4, 'chunk_index', NULL, 0, NULL, NULL);
INSERT INTO embedding_metadata VALUES (4, 'added_by', 'claude', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (4, 'chroma:document', 'Always answers in tables, never in long prose.', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (4, 'filed_at', '2026-11-24T02:08:57.607083', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (4, 'source_file', '', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (4, 'id_recipe', 'v3', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (4, 'last_modified', '2026-11-24T02:08:57.607083', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (5, 'room', 'long', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (5, 'added_by', 'mcp', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (5, 'filed_at', '2026-11-24T02:08:57.651010', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (5, 'parent_drawer_id', 'drawer_shop_long_ff083fbd2a6a0d4b6b34dff3', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (5, 'id_recipe', 'v3', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (5, 'source_file', '', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (5, 'last_modified', '2026-11-24T02:08:57.651010', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (5, 'chroma:document', 'The report of the year is built from three tables, and each of them has its own clock. The report of the year is built from three tables, and each of them has its own clock. The report of the year is built from three tables, and each of them has its own clock. The report of the year is built from three tables, and each of them has its own clock. The report of the year is built from three tables, and each of them has its own clock. The report of the year is built from three tables, and each of them has its own clock. The report of the year is built from three tables, and each of them has its own clock. The report of the year is built from three tables, and each of them has its own clock. The report of the year is built from three tables, and each of them has its own clock. The report of the', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (5, 'wing', 'shop', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (5, 'chunk_index', NULL, 0, NULL, NULL);
INSERT INTO embedding_metadata VALUES (6, 'chunk_index', NULL, 1, NULL, NULL);
INSERT INTO embedding_metadata VALUES (6, 'source_file', '', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (6, 'chroma:document', ' year is built from three tables, and each of them has its own clock. The report of the year is built from three tables, and each of them has its own clock. The report of the year is built from three tables, and each of them has its own clock. The report of the year is built from three tables, and each of them has its own clock. The report of the year is built from three tables, and each of them has its own clock. The report of the year is built from three tables, and each of them has its own clock. The report of the year is built from three tables, and each of them has its own clock. The report of the year is built from three tables, and each of them has its own clock. The report of the year is built from three tables, and each of them has its own clock. The report of the year is built fr', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (6, 'wing', 'shop', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (6, 'last_modified', '2026-11-24T02:08:57.651010', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (6, 'filed_at', '2026-11-24T02:08:57.651010', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (6, 'parent_drawer_id', 'drawer_shop_long_ff083fbd2a6a0d4b6b34dff3', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (6, 'added_by', 'mcp', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (6, 'room', 'long', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (6, 'id_recipe', 'v3', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (7, 'parent_drawer_id', 'drawer_shop_long_ff083fbd2a6a0d4b6b34dff3', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (7, 'chunk_index', NULL, 2, NULL, NULL);
INSERT INTO embedding_metadata VALUES (7, 'last_modified', '2026-11-24T02:08:57.651010', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (7, 'source_file', '', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (7, 'chroma:document', 'om three tables, and each of them has its own clock. The report of the year is built from three tables, and each of them has its own clock. The report of the year is built from three tables, and each of them has its own clock. The report of the year is built from three tables, and each of them has its own clock. The report of the year is built from three tables, and each of them has its own clock. The report of the year is built from three tables, and each of them has its own clock. The report of the year is built from three tables, and each of them has its own clock. The report of the year is built from three tables, and each of them has its own clock. The report of the year is built from three tables, and each of them has its own clock. The report of the year is built from three tables, ', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (7, 'added_by', 'mcp', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (7, 'room', 'long', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (7, 'filed_at', '2026-11-24T02:08:57.651010', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (7, 'id_recipe', 'v3', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (7, 'wing', 'shop', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (8, 'room', 'long', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (8, 'filed_at', '2026-11-24T02:08:57.651010', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (8, 'id_recipe', 'v3', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (8, 'parent_drawer_id', 'drawer_shop_long_ff083fbd2a6a0d4b6b34dff3', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (8, 'added_by', 'mcp', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (8, 'wing', 'shop', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (8, 'chroma:document', 'and each of them has its own clock. The report of the year is built from three tables, and each of them has its own clock. The report of the year is built from three tables, and each of them has its own clock. ', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (8, 'last_modified', '2026-11-24T02:08:57.651010', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (8, 'chunk_index', NULL, 3, NULL, NULL);
INSERT INTO embedding_metadata VALUES (8, 'source_file', '', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (9, 'filed_at', '2026-11-24T02:08:57.763269', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (9, 'agent', 'claude', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (9, 'room', 'diary', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (9, 'type', 'diary_entry', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (9, 'topic', 'imports', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (9, 'date', '2026-11-24', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (9, 'last_modified', '2026-11-24T02:08:57.763269', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (9, 'chroma:document', 'Today the import of the bank''s file was slow.', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (9, 'wing', 'shop', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (9, 'chunk_index', NULL, 0, NULL, NULL);
INSERT INTO embedding_metadata VALUES (9, 'hall', 'hall_diary', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (10, 'content_date_source', 'mtime', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (10, 'source_dir_ino', '2345313', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (10, 'source_file', '/home/me/shop/notes.md', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (10, 'id_recipe', 'v3', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (10, 'line_start', NULL, 1, NULL, NULL);
INSERT INTO embedding_metadata VALUES (10, 'normalize_version', NULL, 2, NULL, NULL);
INSERT INTO embedding_metadata VALUES (10, 'hall', 'memory', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (10, 'chroma:document', '# Search

We decided to use Redis instead of Memcached for the search page, because Redis keeps its entries over a restart and
Memcached does not. The trade-off is one more service with a disk. The team agreed on that decision in March, and the
page has been twice as fast since then. The eviction policy is allkeys-lru, and the memory limit is two gigabytes.', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (10, 'source_mtime', NULL, NULL, 1.79548616980309486386e+09, NULL);
INSERT INTO embedding_metadata VALUES (10, 'chunk_total', NULL, 1, NULL, NULL);
INSERT INTO embedding_metadata VALUES (10, 'content_date', '2026-11-24', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (10, 'filed_at', '2026-11-24T02:09:32.758339', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (10, 'room', 'general', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (10, 'chunk_index', NULL, 0, NULL, NULL);
INSERT INTO embedding_metadata VALUES (10, 'added_by', 'mempalace', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (10, 'last_modified', '2026-11-24T02:09:32.758339', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (10, 'wing', 'palproj', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (10, 'entities', 'Memcached;Redis', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (10, 'line_end', NULL, 5, NULL, NULL);
INSERT INTO embedding_metadata VALUES (11, 'drawer_count', NULL, 1, NULL, NULL);
INSERT INTO embedding_metadata VALUES (11, 'wing', 'palproj', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (11, 'entities', 'Memcached;Redis', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (11, 'chroma:document', 'decided to use redis instead of memcached for th|Redis;Memcached|2026-11-24:L1-L5|→drawer_palproj_general_ee610e57c553fa36dbe3279b
search|Redis;Memcached|2026-11-24:L1-L5|→drawer_palproj_general_ee610e57c553fa36dbe3279b', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (11, 'room', 'general', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (11, 'normalize_version', NULL, 2, NULL, NULL);
INSERT INTO embedding_metadata VALUES (11, 'source_file', '/home/me/shop/notes.md', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (11, 'last_modified', '2026-11-24T02:09:32.794224', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (11, 'filed_at', '2026-11-24T02:09:32.794224', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (12, 'authored_at', '2026-05-01T10:01:05Z', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (12, 'normalize_version', NULL, 2, NULL, NULL);
INSERT INTO embedding_metadata VALUES (12, 'chunk_total', NULL, 2, NULL, NULL);
INSERT INTO embedding_metadata VALUES (12, 'source_mtime', NULL, NULL, 1.79548617003263568875e+09, NULL);
INSERT INTO embedding_metadata VALUES (12, 'content_hash', '3688f2a56f5a177f2b1f31ffbf514422a39330abb9b2b86c55580b3d4c4967dd', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (12, 'last_modified', '2026-11-24T02:09:34.020025', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (12, 'hall', 'memory', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (12, 'wing', 'palchat', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (12, 'convo_chunker_version', NULL, 2, NULL, NULL);
INSERT INTO embedding_metadata VALUES (12, 'extract_mode', 'exchange', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (12, 'source_dir_ino', '2344122', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (12, 'id_recipe', 'v3', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (12, 'added_by', 'mempalace', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (12, 'room', 'decisions', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (12, 'filed_at', '2026-11-24T02:09:34.020025', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (12, 'chunk_index', NULL, 0, NULL, NULL);
INSERT INTO embedding_metadata VALUES (12, 'ingest_mode', 'convos', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (12, 'chroma:document', '> Why did we choose the event log over a queue for the invoices?
We decided to use the event log instead of a queue because the auditors want to replay a whole month. A queue forgets what it has delivered, and the trade-off of a larger disk is acceptable.', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (12, 'source_file', '/home/me/chats/s1.jsonl', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (12, 'entities', '', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (13, 'wing', 'palchat', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (13, 'source_mtime', NULL, NULL, 1.79548617003263568875e+09, NULL);
INSERT INTO embedding_metadata VALUES (13, 'chunk_total', NULL, 2, NULL, NULL);
INSERT INTO embedding_metadata VALUES (13, 'chroma:document', '> I prefer short commits, always one idea each.
Understood: one idea for each commit from now on.', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (13, 'authored_at', '2026-05-01T10:01:05Z', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (13, 'entities', '', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (13, 'extract_mode', 'exchange', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (13, 'chunk_index', NULL, 1, NULL, NULL);
INSERT INTO embedding_metadata VALUES (13, 'id_recipe', 'v3', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (13, 'last_modified', '2026-11-24T02:09:34.020025', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (13, 'filed_at', '2026-11-24T02:09:34.020025', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (13, 'source_file', '/home/me/chats/s1.jsonl', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (13, 'ingest_mode', 'convos', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (13, 'added_by', 'mempalace', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (13, 'room', 'decisions', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (13, 'convo_chunker_version', NULL, 2, NULL, NULL);
INSERT INTO embedding_metadata VALUES (13, 'normalize_version', NULL, 2, NULL, NULL);
INSERT INTO embedding_metadata VALUES (13, 'source_dir_ino', '2344122', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (13, 'hall', 'general', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (14, 'chunk_index', NULL, 0, NULL, NULL);
INSERT INTO embedding_metadata VALUES (14, 'added_by', 'mempalace', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (14, 'hall', 'memory', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (14, 'entities', '', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (14, 'source_mtime', NULL, NULL, 1.79548617003263568875e+09, NULL);
INSERT INTO embedding_metadata VALUES (14, 'content_hash', '3688f2a56f5a177f2b1f31ffbf514422a39330abb9b2b86c55580b3d4c4967dd', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (14, 'id_recipe', 'v3', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (14, 'authored_at', '2026-05-01T10:01:05Z', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (14, 'chunk_total', NULL, 1, NULL, NULL);
INSERT INTO embedding_metadata VALUES (14, 'chroma:document', '> Why did we choose the event log over a queue for the invoices?
We decided to use the event log instead of a queue because the auditors want to replay a whole month. A queue forgets what it has delivered, and the trade-off of a larger disk is acceptable.', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (14, 'last_modified', '2026-11-24T02:09:35.684861', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (14, 'ingest_mode', 'convos', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (14, 'filed_at', '2026-11-24T02:09:35.684861', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (14, 'source_file', '/home/me/chats/s1.jsonl', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (14, 'extract_mode', 'general', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (14, 'normalize_version', NULL, 2, NULL, NULL);
INSERT INTO embedding_metadata VALUES (14, 'room', 'decision', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (14, 'wing', 'general', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (14, 'source_dir_ino', '2344122', NULL, NULL, NULL);
