import { readFileSync } from 'node:fs';
import { type OptionTable, plainVariables } from '@trunkline/config';
import { errorMessage, systemCode } from '@trunkline/std';
import type { SecurityFinding } from './posture.ts';

/** Secrets that a service which runs alone finds in plain text in the environment file. */
export function plainSecretsOf(file: string, table: OptionTable): SecurityFinding {
  const subject = 'plain secrets';
  try {
    const found = plainVariables(readFileSync(file, 'utf8'), file, [table]);
    if (found.length === 0) return { subject, state: 'ok', words: 'none in .env.' };
    return {
      subject,
      state: 'warning',
      words: `${found.length} stand in plain text in ${file}: ${found.map(({ place }) => place).join(', ')}.`,
      advice: 'Run "trunkline secret import" (--dry-run shows what it does), or "trunkline audit --fix".',
    };
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return { subject, state: 'ok', words: 'there is no .env.' };
    return { subject, state: 'failed', words: errorMessage(error), advice: 'Mend that, then look again.' };
  }
}
