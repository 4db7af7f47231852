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
];
