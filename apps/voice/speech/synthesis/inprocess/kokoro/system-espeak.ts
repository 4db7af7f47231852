import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);
const timeoutMs = 5000;

/** Phonemes by the espeak-ng program; nothing when it is not installed. */
export async function systemPhonemes(text: string, voice: string): Promise<string | undefined> {
  try {
    const { stdout } = await run('espeak-ng', ['-q', '--ipa', '-v', voice, '--', text], {
      timeout: timeoutMs,
    });
    return stdout.trim().replace(/\s+/g, ' ');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
