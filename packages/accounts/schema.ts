/** All times are milliseconds since 1970. */
export const migrations = [
  `
  CREATE TABLE accounts (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, disabled INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL, seen_at INTEGER
  ) STRICT;
  CREATE TABLE identities (
    identity TEXT PRIMARY KEY, account TEXT NOT NULL REFERENCES accounts ON DELETE CASCADE
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX identities_by_account ON identities (account);
  CREATE TABLE keys (
    id TEXT PRIMARY KEY, account TEXT NOT NULL REFERENCES accounts ON DELETE CASCADE, label TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE, created_at INTEGER NOT NULL, used_at INTEGER
  ) STRICT;
  CREATE INDEX keys_by_account ON keys (account);
  CREATE TABLE sessions (
    hash TEXT PRIMARY KEY, account TEXT NOT NULL REFERENCES accounts ON DELETE CASCADE, expires_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX sessions_by_account ON sessions (account, expires_at);
  CREATE TABLE pairings (
    identity TEXT PRIMARY KEY, namespace TEXT NOT NULL, display TEXT NOT NULL, hash TEXT NOT NULL,
    requested_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, issued INTEGER NOT NULL DEFAULT 1,
    refused INTEGER NOT NULL DEFAULT 0
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE wrong_codes (at INTEGER NOT NULL) STRICT;
  CREATE TABLE used_codes (hash TEXT PRIMARY KEY, expires_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE listed (
    source TEXT NOT NULL, identity TEXT NOT NULL, name TEXT NOT NULL, role TEXT NOT NULL, PRIMARY KEY (source, identity)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  CREATE TABLE programs (
    id TEXT PRIMARY KEY, account TEXT NOT NULL REFERENCES accounts ON DELETE CASCADE, client TEXT NOT NULL,
    name TEXT NOT NULL, agent TEXT NOT NULL, created_at INTEGER NOT NULL, used_at INTEGER, ends INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX programs_by_account ON programs (account, ends);
  CREATE TABLE program_tokens (
    id INTEGER PRIMARY KEY, program TEXT NOT NULL REFERENCES programs ON DELETE CASCADE,
    access TEXT NOT NULL UNIQUE, access_ends INTEGER NOT NULL, refresh TEXT NOT NULL UNIQUE, ends INTEGER NOT NULL,
    used_at INTEGER
  ) STRICT;
  CREATE INDEX program_tokens_by_program ON program_tokens (program);
  CREATE TABLE program_codes (
    hash TEXT PRIMARY KEY, account TEXT NOT NULL REFERENCES accounts ON DELETE CASCADE, client TEXT NOT NULL,
    name TEXT NOT NULL, agent TEXT NOT NULL, redirect TEXT NOT NULL, challenge TEXT NOT NULL,
    expires_at INTEGER NOT NULL, used INTEGER NOT NULL DEFAULT 0, program TEXT
  ) STRICT, WITHOUT ROWID;
  `,
];
