import { ConfigError, type Environment, parseYaml } from '@trunkline/config';
import { createKeyring, type Keyring } from '@trunkline/http';
import { z } from 'zod';
import type { User } from './user.ts';

/** The people who may call; of their keys only hashes are kept. */
export interface Roster {
  users: ReadonlyMap<string, User>;
  keyring: Keyring<User>;
}

export interface RosterText {
  text: string;
  /** Named in errors. */
  file: string;
  /** Whether `${VAR}` in the text stands for a variable of `env`. */
  expand: boolean;
  env?: Environment | undefined;
}

interface Entry {
  key: string;
  caller: User;
}

const rosterSchema = z.object({ users: z.array(z.unknown()) });
const text = z.preprocess((value) => (typeof value === 'number' ? String(value) : value), z.string().trim());
const recordSchema = z.object({ id: text.pipe(z.string().min(1)), api_key: text.pipe(z.string().min(1)) });
const optionalsSchema = z.looseObject({
  display_name: text.optional().catch(undefined),
  role: z.enum(['user', 'admin']).catch('user'),
  allowed_skills: z.array(z.unknown()).nullable().catch(null),
  pinned_viz: z.record(z.string(), z.unknown()).nullable().catch(null),
});

/** Reads a roster; records that cannot be used are told to `warn` and left out. */
export function readRoster(source: RosterText, warn: (words: string) => void): Roster {
  const { file, expand, env } = source;
  const { users } = parseYaml(source.text, rosterSchema, { file, expand, ...(env && { env }) });
  const entries = uniqueEntries(users, file, warn);
  if (users.length > 0 && entries.length === 0) {
    throw new ConfigError(`${file} cannot be used:`, [`${file}: no record has both an id and an api_key`]);
  }
  return {
    users: new Map(entries.map(({ caller }) => [caller.id, caller])),
    keyring: createKeyring(entries),
  };
}

function uniqueEntries(records: readonly unknown[], file: string, warn: (words: string) => void): Entry[] {
  const byId = new Map<string, Entry>();
  for (const [index, record] of records.entries()) {
    const entry = entryOf(record);
    if (entry === undefined) warn(`${file}: record ${index + 1} has no id or no api_key and is left out`);
    else if (byId.has(entry.caller.id)) warn(`${file}: a second record of ${entry.caller.id} is left out`);
    else byId.set(entry.caller.id, entry);
  }
  return [...byId.values()];
}

function entryOf(record: unknown): Entry | undefined {
  const required = recordSchema.safeParse(record);
  if (!required.success) return undefined;
  const { id, api_key } = required.data;
  const optional = optionalsSchema.parse(record);
  const caller: User = {
    id,
    displayName: optional.display_name || id,
    role: optional.role,
    allowedSkills: slugsOf(optional.allowed_skills),
    pinnedViz: optional.pinned_viz,
  };
  return { key: api_key, caller };
}

/** Trimmed, blanks dropped; an empty list constrains nobody. */
function slugsOf(list: readonly unknown[] | null): string[] | null {
  const slugs = (list ?? []).filter((slug) => typeof slug === 'string').map((slug) => slug.trim());
  const named = slugs.filter((slug) => slug !== '');
  return named.length === 0 ? null : named;
}
