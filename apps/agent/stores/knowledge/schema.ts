import type { Migration } from '@trunkline/storage';

/** The index keeps no text of its own; a heading counts three times as much as the content. */
export const knowledgeMigrations: readonly Migration[] = [
  `CREATE TABLE chunks (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     domain TEXT NOT NULL,
     heading TEXT NOT NULL,
     content TEXT NOT NULL,
     created_at TEXT NOT NULL,
     updated_at TEXT NOT NULL
   ) STRICT;
   CREATE UNIQUE INDEX chunks_by_heading ON chunks (domain, heading) WHERE heading <> '';
   CREATE INDEX chunks_by_time ON chunks (updated_at, id);
   CREATE VIRTUAL TABLE chunk_words USING fts5 (
     heading, content, content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
   );
   INSERT INTO chunk_words (chunk_words, rank) VALUES ('rank', 'bm25(3.0, 1.0)');
   CREATE TABLE vectors (
     id INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
     model TEXT NOT NULL,
     vector BLOB NOT NULL
   ) STRICT;`,
  // What was stored before memories had owners is the operator's.
  `ALTER TABLE chunks ADD COLUMN scope TEXT NOT NULL DEFAULT 'operator';
   DROP INDEX chunks_by_heading;
   CREATE UNIQUE INDEX chunks_by_heading ON chunks (scope, domain, heading) WHERE heading <> '';
   CREATE INDEX chunks_by_scope ON chunks (scope, updated_at, id);`,
];
