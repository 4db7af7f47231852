import { chmodSync, statSync } from 'node:fs';
import type { Logger } from '@trunkline/config';

/** Owner only, for files that can hold credentials. */
export const privateMode = 0o600;

/** Makes a file private and logs it. */
export function restrictFile(file: string, logger: Logger): void {
  if (process.platform === 'win32') return;
  const mode = statSync(file, { throwIfNoEntry: false })?.mode;
  if (mode === undefined || (mode & 0o077) === 0) return;
  const from = (mode & 0o777).toString(8);
  try {
    chmodSync(file, privateMode);
    logger.info(
      { file, from, to: privateMode.toString(8) },
      'restricted file to its owner: it can hold secrets',
    );
  } catch (error) {
    logger.warn(
      { err: error, file, mode: from },
      'failed to restrict file that can hold secrets; run chmod 600',
    );
  }
}
