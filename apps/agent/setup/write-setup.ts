import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeFileAtomic } from '@trunkline/storage';
import { parseDocument } from 'yaml';
import type { LiveConfig } from './config-file.ts';
import { completeSetup, type ModelSettings } from './setup.ts';

const ownerOnly = 0o600;

/** Puts what is given of the model into the files, the key into secrets.yaml alone, and completes the setup. */
export async function writeSetup(
  live: LiveConfig,
  directory: string,
  settings: ModelSettings,
  given: Partial<ModelSettings>,
): Promise<void> {
  const text = await readFile(live.file, 'utf8');
  const changed = withValues(text, [
    [['model', 'api_base'], given.url],
    [['model', 'name'], given.model],
  ]);
  if (changed !== text) await live.write(changed);
  if (given.apiKey !== undefined) await writeSecret(join(directory, 'secrets.yaml'), given.apiKey);
  await completeSetup(directory, { ...settings, ...given });
}

async function writeSecret(file: string, apiKey: string): Promise<void> {
  const before = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  await writeFileAtomic(file, withValues(before, [[['model', 'api_key'], apiKey]]), { mode: ownerOnly });
}

/** The text with some values set; comments stay where they are. */
function withValues(text: string, values: [path: string[], value: string | undefined][]): string {
  const document = parseDocument(text);
  const given = values.filter(([, value]) => value !== undefined);
  for (const [path, value] of given) document.setIn(path, value);
  return given.length === 0 ? text : String(document);
}
