-- MemPalace 3.11.0 (PyPI): the tools kg_add and kg_invalidate of its MCP server. Indexes are left out.

CREATE TABLE entities (
                id TEXT PRIMARY KEY,
                name TEXT NOT NULL,
                type TEXT DEFAULT 'unknown',
                properties TEXT DEFAULT '{}',
                created_at TEXT DEFAULT CURRENT_TIMESTAMP
            );
INSERT INTO entities VALUES ('shop', 'shop', 'unknown', '{}', '2026-11-24 02:08:57');
INSERT INTO entities VALUES ('cents', 'cents', 'unknown', '{}', '2026-11-24 02:08:57');
INSERT INTO entities VALUES ('checkout', 'checkout', 'unknown', '{}', '2026-11-24 02:08:57');
INSERT INTO entities VALUES ('payment_gateway', 'payment gateway', 'unknown', '{}', '2026-11-24 02:08:57');
INSERT INTO entities VALUES ('node_18', 'Node 18', 'unknown', '{}', '2026-11-24 02:08:57');
INSERT INTO entities VALUES ('node_22', 'Node 22', 'unknown', '{}', '2026-11-24 02:08:57');

CREATE TABLE triples (
                id TEXT PRIMARY KEY,
                subject TEXT NOT NULL,
                predicate TEXT NOT NULL,
                object TEXT NOT NULL,
                valid_from TEXT,
                valid_to TEXT,
                confidence REAL DEFAULT 1.0,
                source_closet TEXT,
                source_file TEXT,
                source_drawer_id TEXT,
                adapter_name TEXT,
                extracted_at TEXT DEFAULT CURRENT_TIMESTAMP,
                FOREIGN KEY (subject) REFERENCES entities(id),
                FOREIGN KEY (object) REFERENCES entities(id)
            );
INSERT INTO triples VALUES ('t_shop_stores_prices_in_cents_df63f412790b', 'shop', 'stores_prices_in', 'cents', '2026-03-01', NULL, 1.0, NULL, NULL, NULL, NULL, '2026-11-24 02:08:57');
INSERT INTO triples VALUES ('t_checkout_depends_on_payment_gateway_972cff002942', 'checkout', 'depends_on', 'payment_gateway', NULL, NULL, 1.0, NULL, NULL, NULL, NULL, '2026-11-24 02:08:57');
INSERT INTO triples VALUES ('t_checkout_runs_on_node_18_fd2b0c563679', 'checkout', 'runs_on', 'node_18', '2025-01-01', '2026-02-01', 1.0, NULL, NULL, NULL, NULL, '2026-11-24 02:08:57');
INSERT INTO triples VALUES ('t_checkout_runs_on_node_22_5356a11445f7', 'checkout', 'runs_on', 'node_22', '2026-02-01', NULL, 1.0, NULL, NULL, NULL, NULL, '2026-11-24 02:08:57');
