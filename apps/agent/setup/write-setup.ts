import { readFile } from 'node:fs/promises';
import { parseDocument } from 'yaml';
import type { LiveConfig } from './config-file.ts';
import { completeSetup, type ModelSettings, requireSetup } from './setup.ts';

/** A key with the endpoint it is for. */
export interface GivenKey {
  apiKey: string;
  url: string;
}

/** Puts what is given of the model into the files, the key into secrets.yaml alone, and completes the setup. */
export async function writeSetup(
  live: LiveConfig,
  directory: string,
  settings: ModelSettings,
  given: Partial<ModelSettings>,
): Promise<void> {
  const wanted = { ...settings, ...given };
  requireSetup(wanted);
  const text = withValues(await readFile(live.file, 'utf8'), [
    [['model', 'api_base'], given.url],
    [['model', 'name'], given.model],
  ]);
  const key = given.apiKey === undefined ? undefined : { apiKey: given.apiKey, url: wanted.url ?? '' };
  await writeConfig(live, text, key);
  await completeSetup(directory, wanted);
}

/** Replaces the configuration, with the key of the endpoint that it names. */
export async function writeConfig(live: LiveConfig, text: string, key: GivenKey | undefined): Promise<void> {
  await live.write(text, key && (await secretsWith(live.secretsFile, key)));
}

/** The text of the secrets with another key, which goes to its endpoint alone. */
async function secretsWith(file: string, { apiKey, url }: GivenKey): Promise<string> {
  const before = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  return withValues(before, [
    [['model', 'api_key'], apiKey],
    [['model', 'api_base'], url],
  ]);
}

/** The text with some values set as they are, not as names of variables; comments stay where they are. */
function withValues(text: string, values: [path: string[], value: string | undefined][]): string {
  const document = parseDocument(text);
  const given = values.flatMap(([path, value]) => (value === undefined ? [] : [{ path, value }]));
  for (const { path, value } of given)
    document.setIn(
      path,
      value.replaceAll(`\${`, () => `$\${`),
    );
  return given.length === 0 ? text : String(document);
}
