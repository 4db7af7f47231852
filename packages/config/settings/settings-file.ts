import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { keyVariables } from '@trunkline/secrets';
import { errorMessage, systemCode } from '@trunkline/std';
import { isMap, isScalar, isSeq, parseDocument, Scalar } from 'yaml';
import { ConfigError, nearest } from '../config-error.ts';
import { knownVariables } from '../environment/environment.ts';
import { syntaxProblems } from '../yaml/parse.ts';
import { type Problem, parseSource, refuse, type YamlSource } from '../yaml/source.ts';

/** Why some variables cannot stand in the file. */
const REASONS = new Map<string, string>([
  ['TRUNKLINE_HOME', 'it says where this file is'],
  ...Object.values(keyVariables).map(
    (name) => [name, 'it opens the secrets that this file refers to'] as const,
  ),
  ...['PORT', 'VOICE_PORT', 'AGENT_PORT', 'RESEARCH_PORT', 'SWITCHBOARD_PORT'].map(
    (name) => [name, 'pages and programs find the service by it'] as const,
  ),
]);

/** Why a variable cannot stand in settings.yaml; undefined where it can. */
export function whyNotInFile(variable: string): string | undefined {
  const reason = REASONS.get(variable);
  return (
    reason && `${variable} cannot stand in settings.yaml: ${reason}; set it in the environment or in .env`
  );
}

/** A value of the file as it is written, and where: `file:line:column`. */
export interface FileSetting {
  readonly text: string;
  readonly place: string;
}

export function settingsPath(home: string): string {
  return join(home, 'settings.yaml');
}

/**
 * The settings of a home by variable; a file that is not there has none. `own` are variables of a table, which may know more
 * than the list of all services. Fails once with all that is wrong.
 */
export function readSettingsFile(home: string, own: Iterable<string> = []): Map<string, FileSetting> {
  const file = settingsPath(home);
  return parseSettings(readSettingsText(file) ?? '', file, own);
}

/**
 * Gives what the settings of a home are now, for those who ask again and again. While the file cannot be used, those that
 * were good before stay.
 */
export function followSettings(home: string): () => ReadonlyMap<string, FileSetting> {
  const file = settingsPath(home);
  let text = '';
  let settings = new Map<string, FileSetting>();
  return () => {
    try {
      const now = readSettingsText(file) ?? '';
      if (now === text) return settings;
      text = now;
      settings = parseSettings(now, file);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
    }
    return settings;
  };
}

/** The text of the file; undefined when there is none. */
export function readSettingsText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '')) return undefined;
    throw new ConfigError(`${file} cannot be read:`, [errorMessage(error)], { cause: error });
  }
}

export function parseSettings(
  text: string,
  file: string,
  own: Iterable<string> = [],
): Map<string, FileSetting> {
  const source = parseSource(text.replace(/^\uFEFF/, ''), file);
  const problems: Problem[] = [...syntaxProblems(source)];
  const settings = new Map<string, FileSetting>();
  const { contents } = source.document;
  if (contents !== null && !isMap(contents) && !(isScalar(contents) && contents.value === null))
    problems.push({ offset: 0, words: 'expected lines such as VARIABLE: value' });
  const known = new Set([...knownVariables(), ...own]);
  for (const { key, value } of isMap(contents) && problems.length === 0 ? contents.items : []) {
    if (!isScalar(key)) continue;
    const variable = String(key.value);
    const offset = key.range?.[0] ?? 0;
    const words = problemWithName(variable, known) ?? problemWithValue(variable, value);
    if (words !== undefined) problems.push({ offset, words });
    const setting = textOf(value);
    if (setting !== undefined && setting.trim() !== '')
      settings.set(variable, { text: setting.trim(), place: placeOf(source, offset) });
  }
  if (problems.length > 0) refuse(source, problems);
  return settings;
}

/** What is wrong with a name; undefined for a setting that may stand in the file. */
export function problemWithName(variable: string, known: ReadonlySet<string>): string | undefined {
  const reason = whyNotInFile(variable);
  // Without the list of all services nobody can say what another one knows.
  if (reason !== undefined || known.has(variable) || knownVariables().size === 0) return reason;
  const near = nearest(variable, known);
  return `${variable} is not a setting; ${near === undefined ? '.env.example lists them all' : `did you mean ${near}?`}`;
}

function problemWithValue(variable: string, value: unknown): string | undefined {
  if (textOf(value) !== undefined || value === null || (isScalar(value) && value.value === null))
    return undefined;
  return `${variable} needs a text, a number, true or false, or a list of those`;
}

// A list stands for texts between commas, as in the environment.
function textOf(value: unknown): string | undefined {
  if (isSeq(value)) {
    const texts = value.items.map(textOf);
    return texts.every((text) => text !== undefined) ? texts.join(',') : undefined;
  }
  if (!isScalar(value) || value.value === null || typeof value.value === 'object') return undefined;
  // 1e3 or 007 stand for what was written.
  return value.type === Scalar.PLAIN && value.source !== undefined ? value.source : String(value.value);
}

function placeOf({ file, lines }: YamlSource, offset: number): string {
  const { line, col } = lines.linePos(offset);
  return `${file}:${Math.max(line, 1)}:${Math.max(col, 1)}`;
}

/** The text of the file with other values; null removes one. Comments and everything else stay. */
export function changeSettings(text: string, changes: ReadonlyMap<string, string | null>): string {
  const document = parseDocument(text);
  // Of a file that says `---` or `null` and no more.
  if (isScalar(document.contents)) document.contents = null;
  for (const [variable, value] of changes) {
    if (value !== null) document.set(variable, value);
    else if (isMap(document.contents)) document.delete(variable);
  }
  if (isMap(document.contents)) document.contents.flow = false;
  return String(document);
}
