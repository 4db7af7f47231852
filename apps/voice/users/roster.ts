import { ConfigError, type Environment, parseYaml } from '@trunkline/config';
import { createKeyring, type Keyring } from '@trunkline/http';
import { z } from 'zod';
import { languagePattern, type User } from './user.ts';

/** The people who may call. Only hashes of their keys are kept. */
export interface Roster {
  users: ReadonlyMap<string, User>;
  keyring: Keyring<User>;
}

export interface RosterText {
  text: string;
  file: string;
  /** Whether `${VAR}` in the text stands for a variable of `env`. */
  expand: boolean;
  env?: Environment | undefined;
}

interface Entry {
  key: string;
  caller: User;
}

type Complain = (path: PropertyKey[], message: string) => void;

const rosterSchema = z.object({ users: z.array(z.unknown()) }).superRefine(({ users }, context) => {
  const complain: Complain = (path, message) =>
    context.addIssue({ code: 'custom', path: ['users', ...path], message });
  for (const [index, record] of users.entries()) checkTypes(fieldsOf(record), index, complain);
  checkUnique(users, complain);
});

const displayName = z.preprocess((value) => (typeof value === 'number' ? String(value) : value), z.string());
const optionalsSchema = z.looseObject({
  display_name: displayName.optional().catch(undefined),
  role: z.enum(['user', 'admin']).catch('user'),
  language: z.string().trim().regex(languagePattern).optional().catch(undefined),
  pinned_viz: z.record(z.string(), z.unknown()).nullable().catch(null),
});

/**
 * Reads a roster. Whatever would give someone another key or more skills than the text says is an error with its line;
 * records without id or key are told to `warn` and left out.
 */
export function readRoster(source: RosterText, warn: (message: string) => void): Roster {
  const { file, expand, env } = source;
  const { users } = parseYaml(source.text, rosterSchema, { file, expand, ...(env && { env }) });
  const entries = users.flatMap((record, index) => {
    const fields = fieldsOf(record);
    if (!isUsable(fields)) {
      warn(`${file}: record ${index + 1} has no id or no api_key and is left out`);
      return [];
    }
    const { allowed_skills: skills } = fields;
    if (skills !== undefined && skills !== null && !Array.isArray(skills))
      warn(`${file}: allowed_skills of ${textOf(fields.id)} is no list, so it restricts nothing`);
    const entry = entryOf(fields);
    if (!isBlank(fields.language) && entry.caller.language === undefined)
      warn(`${file}: language of ${entry.caller.id} is no code such as es or pt-BR, so it is not used`);
    return entry;
  });
  if (users.length > 0 && entries.length === 0) {
    throw new ConfigError(`${file} cannot be used:`, [`${file}: no record has both an id and an api_key`]);
  }
  return {
    users: new Map(entries.map(({ caller }) => [caller.id, caller])),
    keyring: createKeyring(entries),
  };
}

/** YAML reads 0123, 1e5 and long digits without quotes as numbers, and so as other keys than were written. */
function checkTypes(fields: Fields, index: number, complain: Complain): void {
  for (const name of ['id', 'api_key'])
    if (!isBlank(fields[name]) && typeof fields[name] !== 'string')
      complain([index, name], `expected a text; put the ${name === 'id' ? 'id' : 'key'} in quotes`);
  const { allowed_skills: skills } = fields;
  for (const [place, slug] of Array.isArray(skills) ? skills.entries() : [])
    if (typeof slug !== 'string')
      complain([index, 'allowed_skills', place], 'expected the slug of a skill as a text; put it in quotes');
}

function checkUnique(records: readonly unknown[], complain: Complain): void {
  const [byId, byKey] = [new Map<string, number>(), new Map<string, number>()];
  for (const [index, record] of records.entries()) {
    const fields = fieldsOf(record);
    if (!isUsable(fields)) continue;
    const [id, key] = [textOf(fields.id), textOf(fields.api_key)];
    const [sameId, sameKey] = [byId.get(id), byKey.get(key)];
    if (sameId !== undefined)
      complain([index, 'id'], `record ${sameId + 1} has the same id; give each user an id of their own`);
    if (sameKey !== undefined)
      complain(
        [index, 'api_key'],
        `record ${sameKey + 1} has the same key; give each user a key of their own`,
      );
    byId.set(id, sameId ?? index);
    byKey.set(key, sameKey ?? index);
  }
}

function entryOf(fields: Fields): Entry {
  const id = textOf(fields.id);
  const optional = optionalsSchema.parse(fields);
  const caller: User = {
    id,
    displayName: optional.display_name?.trim() || id,
    role: optional.role,
    language: optional.language,
    allowedSkills: slugsOf(fields.allowed_skills),
    pinnedViz: optional.pinned_viz,
  };
  return { key: textOf(fields.api_key), caller };
}

/** Trimmed, without blanks; an empty list, or no list, restricts nothing. */
function slugsOf(list: unknown): string[] | null {
  const slugs = Array.isArray(list) ? list.map(textOf).filter((slug) => slug !== '') : [];
  return slugs.length === 0 ? null : slugs;
}

type Fields = Record<string, unknown>;

function fieldsOf(record: unknown): Fields {
  return typeof record === 'object' && record !== null && !Array.isArray(record) ? (record as Fields) : {};
}

function isUsable({ id, api_key }: Fields): boolean {
  return !isBlank(id) && !isBlank(api_key);
}

function isBlank(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'string' && value.trim() === '');
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.trim() : '';
}
