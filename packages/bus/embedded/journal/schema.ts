import type { Migration } from '@trunkline/storage';

/** `messages.key` is the message id, or `replay N` for a dead letter that goes once more to `only_for`. */
export const migrations: readonly Migration[] = [
  `
  CREATE TABLE messages (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    topic TEXT NOT NULL,
    correlation_id TEXT NOT NULL,
    stored_at INTEGER NOT NULL,
    only_for TEXT,
    body TEXT NOT NULL
  ) STRICT;
  CREATE INDEX messages_by_correlation ON messages (correlation_id);
  CREATE TABLE cursors (
    name TEXT PRIMARY KEY,
    position INTEGER NOT NULL,
    seen_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE attempts (
    name TEXT NOT NULL,
    position INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    PRIMARY KEY (name, position)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE dead_letters (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    position INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    error TEXT NOT NULL,
    buried_at INTEGER NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (name, position)
  ) STRICT;
  CREATE TABLE starts (count INTEGER NOT NULL) STRICT;
  INSERT INTO starts (count) VALUES (0);
  `,
  `
  CREATE TABLE finished (
    name TEXT NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (name, position)
  ) STRICT, WITHOUT ROWID;
  `,
];
