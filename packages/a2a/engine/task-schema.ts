import type { Database, Migration } from '@trunkline/storage';
import { keyOf } from './task-ids.ts';

/** The tables of `a2a-tasks.db`. */
export const migrations: Migration[] = [
  `
  CREATE TABLE tasks (
    id TEXT NOT NULL UNIQUE,
    context_id TEXT NOT NULL,
    state TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    body TEXT NOT NULL,
    first_events TEXT NOT NULL
  ) STRICT;
  CREATE INDEX tasks_by_time ON tasks (updated_at, id, context_id, state);
  CREATE INDEX tasks_open ON tasks (state) WHERE state IN ('working', 'input-required', 'auth-required');
  CREATE TABLE task_events (
    task_id TEXT NOT NULL,
    last_sequence INTEGER NOT NULL,
    events TEXT NOT NULL,
    PRIMARY KEY (task_id, last_sequence)
  ) STRICT, WITHOUT ROWID;
  `,
  fileByKey,
  // What is open is asked once, at the start; keeping it filed cost every new task a fifth of its write.
  'DROP INDEX tasks_open',
  // Only requests that may be repeated have a key; the others cost the index nothing.
  `ALTER TABLE tasks ADD COLUMN request_key TEXT;
  CREATE INDEX tasks_by_request ON tasks (request_key) WHERE request_key IS NOT NULL`,
];

/** Rows stand in the order of their keys, which the ids hold: each index less is a page less to write for every task. */
function fileByKey(database: Database): void {
  database.exec(`
  DROP INDEX tasks_by_time;
  DROP INDEX tasks_open;
  ALTER TABLE tasks RENAME TO tasks_by_id;
  ALTER TABLE task_events RENAME TO events_by_id;
  CREATE TABLE tasks (
    key INTEGER PRIMARY KEY,
    context_id TEXT NOT NULL,
    state TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    body TEXT NOT NULL,
    first_events TEXT NOT NULL
  ) STRICT;
  CREATE INDEX tasks_by_time ON tasks (updated_at, key, context_id, state);
  CREATE INDEX tasks_open ON tasks (state) WHERE state IN ('working', 'input-required', 'auth-required');
  CREATE TABLE task_events (
    task_key INTEGER NOT NULL,
    last_sequence INTEGER NOT NULL,
    events TEXT NOT NULL,
    PRIMARY KEY (task_key, last_sequence)
  ) STRICT, WITHOUT ROWID;
  `);
  for (const { id } of database.prepare<{ id: string }>('SELECT id FROM tasks_by_id').all())
    move(database, id);
  database.exec('DROP TABLE tasks_by_id; DROP TABLE events_by_id');
}

/** Once in a million, two tasks of the same millisecond had the same first random bits: the first one stays. */
function move(database: Database, id: string): void {
  const key = keyOf(id);
  if (key === undefined) return;
  const { changes } = database
    .prepare(
      'INSERT OR IGNORE INTO tasks SELECT ?, context_id, state, updated_at, body, first_events FROM tasks_by_id WHERE id = ?',
    )
    .run(key, id);
  if (changes === 0) return;
  database
    .prepare('INSERT INTO task_events SELECT ?, last_sequence, events FROM events_by_id WHERE task_id = ?')
    .run(key, id);
}
