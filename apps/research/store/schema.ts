import { type Database, eventLogMigration, type Migration } from '@trunkline/storage';
import { isUnspaced, spaced } from '../text/words.ts';
import { MOST_PARTS, PartStore, partsOf } from './parts.ts';

/** The name of the event log's table. */
export const EVENTS = 'research_events';

/** Everything the service keeps, in one file, so that a job's state and its events change together or not at all. */
export const migrations: readonly Migration[] = [
  eventLogMigration(EVENTS),
  `
  CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('file', 'page')),
    url TEXT NOT NULL,
    title TEXT NOT NULL,
    text TEXT NOT NULL,
    type TEXT NOT NULL,
    hash TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    published TEXT,
    added_at INTEGER NOT NULL,
    UNIQUE (kind, url, hash)
  ) STRICT;
  CREATE INDEX documents_by_url ON documents (url, added_at);
  CREATE VIRTUAL TABLE documents_text USING fts5 (
    title, text, content = 'documents', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
  );
  CREATE TRIGGER documents_added AFTER INSERT ON documents BEGIN
    INSERT INTO documents_text (rowid, title, text) VALUES (new.id, new.title, new.text);
  END;
  CREATE TRIGGER documents_removed AFTER DELETE ON documents BEGIN
    INSERT INTO documents_text (documents_text, rowid, title, text) VALUES ('delete', old.id, old.title, old.text);
  END;
  `,
  `
  CREATE TABLE jobs (
    id TEXT PRIMARY KEY,
    query TEXT NOT NULL,
    session_id TEXT,
    options TEXT NOT NULL,
    status TEXT NOT NULL,
    phase TEXT NOT NULL,
    iteration INTEGER NOT NULL DEFAULT 1,
    closed INTEGER NOT NULL DEFAULT 0,
    awaiting_plan INTEGER NOT NULL DEFAULT 0,
    tokens INTEGER NOT NULL DEFAULT 0,
    spent_ms INTEGER NOT NULL DEFAULT 0,
    error TEXT,
    report TEXT,
    citations TEXT,
    model TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX jobs_open ON jobs (closed, created_at);
  CREATE TABLE dimensions (
    job_id TEXT NOT NULL REFERENCES jobs ON DELETE CASCADE,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    queries TEXT NOT NULL,
    iteration INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('planned', 'started', 'searched', 'done')),
    summary TEXT NOT NULL DEFAULT '',
    key_finding TEXT NOT NULL DEFAULT '',
    troubles TEXT NOT NULL DEFAULT '[]',
    PRIMARY KEY (job_id, position)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE sources (
    id INTEGER PRIMARY KEY,
    job_id TEXT NOT NULL REFERENCES jobs ON DELETE CASCADE,
    url TEXT NOT NULL,
    canonical TEXT NOT NULL,
    title TEXT NOT NULL,
    snippet TEXT NOT NULL,
    engine TEXT NOT NULL,
    quality REAL NOT NULL,
    published TEXT,
    state TEXT NOT NULL CHECK (state IN ('found', 'read', 'failed', 'duplicate')),
    document_id INTEGER,
    duplicate_of INTEGER,
    problem TEXT,
    number INTEGER,
    UNIQUE (job_id, canonical)
  ) STRICT;
  CREATE TABLE uses (
    job_id TEXT NOT NULL REFERENCES jobs ON DELETE CASCADE,
    position INTEGER NOT NULL,
    source_id INTEGER NOT NULL REFERENCES sources ON DELETE CASCADE,
    PRIMARY KEY (job_id, position, source_id)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE drafts (
    job_id TEXT NOT NULL REFERENCES jobs ON DELETE CASCADE,
    position INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (job_id, position)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE claims (
    id INTEGER PRIMARY KEY,
    job_id TEXT NOT NULL REFERENCES jobs ON DELETE CASCADE,
    sentence TEXT NOT NULL,
    source_id INTEGER,
    number INTEGER,
    supported INTEGER NOT NULL,
    score REAL NOT NULL,
    reason TEXT NOT NULL,
    passage TEXT NOT NULL,
    passage_start INTEGER,
    passage_end INTEGER
  ) STRICT;
  CREATE INDEX claims_by_job ON claims (job_id, id);
  CREATE TABLE conversations (
    id TEXT PRIMARY KEY,
    messages TEXT NOT NULL,
    checkpoint TEXT,
    updated_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
  `
  ALTER TABLE jobs ADD COLUMN cost_usd REAL NOT NULL DEFAULT 0;
  ALTER TABLE jobs ADD COLUMN unpriced_calls INTEGER NOT NULL DEFAULT 0;
  CREATE TABLE shares (
    token TEXT PRIMARY KEY,
    job_id TEXT NOT NULL UNIQUE REFERENCES jobs ON DELETE CASCADE,
    created_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE answers (
    id INTEGER PRIMARY KEY,
    job_id TEXT NOT NULL REFERENCES jobs ON DELETE CASCADE,
    question TEXT NOT NULL,
    text TEXT NOT NULL,
    claims TEXT NOT NULL,
    asked_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX answers_by_job ON answers (job_id, id);
  `,
  `
  ALTER TABLE claims ADD COLUMN judge TEXT NOT NULL DEFAULT 'rules';
  ALTER TABLE claims ADD COLUMN certain INTEGER NOT NULL DEFAULT 0;
  CREATE TABLE opinions (
    job_id TEXT NOT NULL REFERENCES jobs ON DELETE CASCADE,
    key TEXT NOT NULL,
    finding TEXT CHECK (finding IN ('supported', 'contradicted', 'absent')),
    words TEXT NOT NULL,
    PRIMARY KEY (job_id, key)
  ) STRICT, WITHOUT ROWID;
  `,
  // Sources, links and chats name a text by its id: that of a removed one never goes to another.
  `
  CREATE TABLE documents_kept (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL CHECK (kind IN ('file', 'page')),
    url TEXT NOT NULL,
    title TEXT NOT NULL,
    text TEXT NOT NULL,
    type TEXT NOT NULL,
    hash TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    published TEXT,
    added_at INTEGER NOT NULL,
    UNIQUE (kind, url, hash)
  ) STRICT;
  INSERT INTO documents_kept SELECT * FROM documents;
  DELETE FROM sqlite_sequence WHERE name = 'documents_kept';
  INSERT INTO sqlite_sequence (name, seq) SELECT 'documents_kept',
    max((SELECT coalesce(max(id), 0) FROM documents), (SELECT coalesce(max(document_id), 0) FROM sources));
  DROP TABLE documents;
  ALTER TABLE documents_kept RENAME TO documents;
  CREATE INDEX documents_by_url ON documents (url, added_at);
  CREATE TRIGGER documents_added AFTER INSERT ON documents BEGIN
    INSERT INTO documents_text (rowid, title, text) VALUES (new.id, new.title, new.text);
  END;
  CREATE TRIGGER documents_removed AFTER DELETE ON documents BEGIN
    INSERT INTO documents_text (documents_text, rowid, title, text) VALUES ('delete', old.id, old.title, old.text);
  END;
  `,
  // Texts in parts, each indexed for itself.
  (database) => {
    database.exec(`
      CREATE TABLE document_parts (
        id INTEGER PRIMARY KEY,
        start INTEGER NOT NULL,
        text TEXT NOT NULL
      ) STRICT;
      CREATE VIRTUAL TABLE parts_text USING fts5 (
        title, text, content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
      );
      DROP TRIGGER documents_added;
      DROP TRIGGER documents_removed;
      DROP TABLE documents_text;
      ALTER TABLE documents ADD COLUMN complete INTEGER NOT NULL DEFAULT 1;
    `);
    splitDocuments(database);
    database.exec('ALTER TABLE documents DROP COLUMN text');
  },
  // Owners. What was stored before belongs to nobody. Two people may upload the same file, or choose the same id for a chat.
  `
  ALTER TABLE jobs ADD COLUMN owner TEXT NOT NULL DEFAULT 'anonymous';
  ALTER TABLE jobs ADD COLUMN principal TEXT;
  CREATE INDEX jobs_by_owner ON jobs (owner, created_at);
  CREATE TABLE documents_owned (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    owner TEXT NOT NULL DEFAULT 'anonymous',
    kind TEXT NOT NULL CHECK (kind IN ('file', 'page')),
    url TEXT NOT NULL,
    title TEXT NOT NULL,
    type TEXT NOT NULL,
    hash TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    published TEXT,
    added_at INTEGER NOT NULL,
    complete INTEGER NOT NULL DEFAULT 1,
    UNIQUE (kind, owner, url, hash)
  ) STRICT;
  INSERT INTO documents_owned (id, kind, url, title, type, hash, bytes, published, added_at, complete)
    SELECT id, kind, url, title, type, hash, bytes, published, added_at, complete FROM documents;
  DELETE FROM sqlite_sequence WHERE name = 'documents_owned';
  INSERT INTO sqlite_sequence (name, seq) SELECT 'documents_owned', seq FROM sqlite_sequence WHERE name = 'documents';
  DROP TABLE documents;
  ALTER TABLE documents_owned RENAME TO documents;
  CREATE TABLE conversations_owned (
    id TEXT NOT NULL,
    owner TEXT NOT NULL DEFAULT 'anonymous',
    messages TEXT NOT NULL,
    checkpoint TEXT,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (id, owner)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO conversations_owned (id, messages, checkpoint, updated_at)
    SELECT id, messages, checkpoint, updated_at FROM conversations;
  DROP TABLE conversations;
  ALTER TABLE conversations_owned RENAME TO conversations;
  CREATE INDEX conversations_by_owner ON conversations (owner, updated_at);
  `,
  // How much of a text is its main part, and whether nothing of the document is missing. Earlier versions left parts of pages out.
  `
  ALTER TABLE documents ADD COLUMN main_length INTEGER;
  ALTER TABLE documents ADD COLUMN whole INTEGER NOT NULL DEFAULT 0;
  `,
  `
  ALTER TABLE claims ADD COLUMN change TEXT;
  CREATE TABLE repairs (
    job_id TEXT NOT NULL REFERENCES jobs ON DELETE CASCADE,
    position INTEGER NOT NULL,
    repairs TEXT NOT NULL,
    PRIMARY KEY (job_id, position)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  CREATE TABLE section_notes (
    job_id TEXT NOT NULL REFERENCES jobs ON DELETE CASCADE,
    position INTEGER NOT NULL,
    kind TEXT NOT NULL,
    words TEXT NOT NULL,
    PRIMARY KEY (job_id, position, kind)
  ) STRICT, WITHOUT ROWID;
  `,
  spaceIndex,
  'ALTER TABLE jobs ADD COLUMN estimated_calls INTEGER NOT NULL DEFAULT 0;',
  'ALTER TABLE opinions ADD COLUMN is_topic INTEGER NOT NULL DEFAULT 0;',
  'ALTER TABLE documents ADD COLUMN hidden INTEGER NOT NULL DEFAULT 0;',
  'CREATE INDEX sources_by_document ON sources (document_id) WHERE document_id IS NOT NULL;',
];

/** Earlier versions indexed a text of a script without spaces as one word a line. */
function spaceIndex(database: Database): void {
  const parts = database.prepare<{ id: number; title: string; text: string }>(
    `SELECT p.id, d.title, p.text FROM document_parts p JOIN documents d ON d.id = p.id / ${MOST_PARTS}
     WHERE p.id > ? ORDER BY p.id LIMIT 100`,
  );
  const remove = database.prepare('DELETE FROM parts_text WHERE rowid = ?');
  const insert = database.prepare('INSERT INTO parts_text (rowid, title, text) VALUES (?, ?, ?)');
  for (let last = -1; ; ) {
    const some = parts.all(last);
    if (some.length === 0) return;
    for (const { id, title, text } of some) {
      last = id;
      if (!isUnspaced(title) && !isUnspaced(text)) continue;
      remove.run(id);
      insert.run(id, spaced(title), spaced(text));
    }
  }
}

function splitDocuments(database: Database): void {
  const parts = new PartStore(database);
  const read = database.prepare<{ title: string; text: string }>(
    'SELECT title, text FROM documents WHERE id = ?',
  );
  for (const { id } of database.prepare<{ id: number }>('SELECT id FROM documents').all()) {
    const { title, text } = read.get(id) ?? { title: '', text: '' };
    parts.add(id, title, partsOf(text));
  }
}
