-- claude-mem 13.25.3 (npm), run by bun 1.4.5: createSDKSession, storeObservations, saveUserPrompt and, for what a person has it keep,
-- getOrCreateManualSession with storeObservation as its route /api/memory/save does, all of plugin/sqlite/SessionStore.js.
-- No model observed anything: the observations were handed to it. Full text, queues, triggers and indexes are left out.

CREATE TABLE sdk_sessions (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        content_session_id TEXT NOT NULL,
        memory_session_id TEXT UNIQUE,
        project TEXT NOT NULL,
        platform_source TEXT NOT NULL DEFAULT 'claude',
        user_prompt TEXT,
        started_at TEXT NOT NULL,
        started_at_epoch INTEGER NOT NULL,
        completed_at TEXT,
        completed_at_epoch INTEGER,
        status TEXT CHECK(status IN ('active', 'completed', 'failed')) NOT NULL DEFAULT 'active'
      , worker_port INTEGER, prompt_counter INTEGER DEFAULT 0, custom_title TEXT, observed_model TEXT, observed_billing TEXT);
INSERT INTO sdk_sessions VALUES (1, 'content-1', 'memory-1', 'shop', 'claude', 'Make the basket faster.', '2026-11-24T02:23:46.500Z', 1795487026500, NULL, NULL, 'active', NULL, 0, NULL, NULL, NULL);
INSERT INTO sdk_sessions VALUES (2, 'manual-content-shop', 'manual-shop', 'shop', 'claude', NULL, '2026-11-24T02:23:46.502Z', 1795487026502, NULL, NULL, 'active', NULL, 0, NULL, NULL, NULL);

CREATE TABLE "observations" (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        memory_session_id TEXT NOT NULL,
        project TEXT NOT NULL,
        text TEXT,
        type TEXT NOT NULL,
        title TEXT,
        subtitle TEXT,
        facts TEXT,
        narrative TEXT,
        concepts TEXT,
        files_read TEXT,
        files_modified TEXT,
        prompt_number INTEGER,
        created_at TEXT NOT NULL,
        created_at_epoch INTEGER NOT NULL, discovery_tokens INTEGER DEFAULT 0, content_hash TEXT, generated_by_model TEXT, relevance_count INTEGER DEFAULT 0, merged_into_project TEXT, agent_type TEXT, agent_id TEXT, metadata TEXT, synced_at INTEGER, origin_device_id TEXT, origin_local_id TEXT, sync_rev TEXT NOT NULL DEFAULT '1',
        FOREIGN KEY(memory_session_id) REFERENCES sdk_sessions(memory_session_id) ON DELETE CASCADE ON UPDATE CASCADE
      );
INSERT INTO observations VALUES (1, 'memory-1', 'shop', NULL, 'decision', 'Basket kept in Redis', 'Observed in a session', '["Its entries live for thirty days"]', 'The basket was moved to Redis, because Memcached forgot it at each restart.', '["trade-off"]', '["src/basket.py"]', '[]', 1, '2026-06-09T10:13:20.000Z', 1781000000000, 120, '24e99d4cc60f2e37', 'a-model', 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '1');
INSERT INTO observations VALUES (2, 'memory-1', 'shop', NULL, 'bugfix', 'Rounding in the report', 'Observed in a session', '[]', 'Sums of floats drifted by a cent in June; the report now adds integers.', '["trade-off"]', '["src/basket.py"]', '[]', 1, '2026-06-09T10:13:20.000Z', 1781000000000, 120, '6a7282315b1d5920', 'a-model', 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '1');
INSERT INTO observations VALUES (3, 'memory-1', 'shop', NULL, 'security_note', 'Key of the staging bank', 'Observed in a session', '[]', 'The staging bank''s key stands in a variable, not in a file.', '["trade-off"]', '["src/basket.py"]', '[]', 1, '2026-06-09T10:13:20.000Z', 1781000000000, 120, 'f7fae801cc45c14c', 'a-model', 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '1');
INSERT INTO observations VALUES (4, 'memory-1', 'shop', NULL, 'sensitive', 'Something private', 'Observed in a session', '[]', 'This is marked sensitive and must not leave.', '["trade-off"]', '["src/basket.py"]', '[]', 1, '2026-06-09T10:13:20.000Z', 1781000000000, 120, '4e919a704e877170', 'a-model', 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '1');
INSERT INTO observations VALUES (5, 'memory-1', 'tiles', NULL, 'discovery', 'Tiles are drawn twice', 'Observed in a session', '[]', 'Each tile is drawn twice after a resize.', '["trade-off"]', '["src/basket.py"]', '[]', 2, '2026-06-09T10:13:21.000Z', 1781000001000, 10, 'cc1c2887b56393c7', NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '1');
INSERT INTO observations VALUES (6, 'manual-shop', 'shop', NULL, 'discovery', 'Prices are shown with the tax of the country that the parcel...', 'Manual memory', '[]', 'Prices are shown with the tax of the country that the parcel goes to, not of the shop.', '[]', '[]', '[]', NULL, '2026-06-09T10:13:22.000Z', 1781000002000, 0, 'a39665fea1227824', NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '1');
INSERT INTO observations VALUES (7, 'manual-shop', 'shop', NULL, 'discovery', 'Deploys', 'Manual memory', '[]', 'Never deploy on a Friday.', '[]', '[]', '[]', NULL, '2026-06-09T10:13:22.000Z', 1781000002000, 0, 'a33598e28f36ecda', NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '1');

CREATE TABLE "session_summaries" (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        memory_session_id TEXT NOT NULL,
        project TEXT NOT NULL,
        request TEXT,
        investigated TEXT,
        learned TEXT,
        completed TEXT,
        next_steps TEXT,
        files_read TEXT,
        files_edited TEXT,
        notes TEXT,
        prompt_number INTEGER,
        created_at TEXT NOT NULL,
        created_at_epoch INTEGER NOT NULL, discovery_tokens INTEGER DEFAULT 0, merged_into_project TEXT, synced_at INTEGER, origin_device_id TEXT, origin_local_id TEXT, sync_rev TEXT NOT NULL DEFAULT '1',
        FOREIGN KEY(memory_session_id) REFERENCES sdk_sessions(memory_session_id) ON DELETE CASCADE ON UPDATE CASCADE
      );
INSERT INTO session_summaries VALUES (1, 'memory-1', 'shop', 'Make the basket faster.', 'The cache.', 'Memcached forgets at restart.', 'The move.', 'None.', '["src/basket.py"]', '[]', NULL, 1, '2026-06-09T10:13:20.000Z', 1781000000000, 120, NULL, NULL, NULL, NULL, '1');

CREATE TABLE "user_prompts" (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session_db_id INTEGER,
        content_session_id TEXT NOT NULL,
        prompt_number INTEGER NOT NULL,
        prompt_text TEXT NOT NULL,
        created_at TEXT NOT NULL,
        created_at_epoch INTEGER NOT NULL, synced_at INTEGER, origin_device_id TEXT, origin_local_id TEXT, sync_rev TEXT NOT NULL DEFAULT '1',
        FOREIGN KEY(session_db_id) REFERENCES sdk_sessions(id) ON DELETE CASCADE
      );
INSERT INTO user_prompts VALUES (1, 1, 'content-1', 1, 'Make the basket faster.', '2026-11-24T02:23:46.507Z', 1795487026507, NULL, NULL, NULL, '1');
