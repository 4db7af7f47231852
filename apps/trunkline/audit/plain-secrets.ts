import type { SecurityFinding } from '@trunkline/service';
import { errorMessage } from '@trunkline/std';
import { findPlainSecrets, type ImportOptions, importSecrets } from '../secrets/import-secrets.ts';

const MAX_NAMED = 5;

/** Secrets of settings that could stand in the encrypted store. */
export function checkPlainSecrets(options: ImportOptions): SecurityFinding {
  const subject = 'plain secrets';
  try {
    const found = findPlainSecrets(options);
    if (found.length === 0)
      return { subject, state: 'ok', words: 'none in .env and the files of the services.' };
    const files = [...new Set(found.map(({ file }) => file))].slice(0, MAX_NAMED).join(', ');
    return {
      subject,
      state: 'warning',
      words: `${found.length} stand in plain text in ${files}.`,
      advice: 'Run "trunkline secret import" (--dry-run shows what it does), or "trunkline audit --fix".',
      fix: async () =>
        `moved them into the store; the files as they were: ${await importSecrets(found, options)}.`,
    };
  } catch (error) {
    return { subject, state: 'failed', words: errorMessage(error), advice: 'Mend that, then look again.' };
  }
}
