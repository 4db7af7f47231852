import { randomBytes } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeFileAtomic } from '@trunkline/storage';

const whole = /^[\w-]{43}$/;

/** The secret between the services; made on the first run and where the file is damaged, readable for its owner only. */
export async function familySecret(home: string): Promise<string> {
  const path = join(home, 'family-secret');
  const known = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  if (whole.test(known.trim())) return known.trim();
  const secret = randomBytes(32).toString('base64url');
  await mkdir(home, { recursive: true });
  await writeFileAtomic(path, `${secret}\n`, { mode: 0o600 });
  return secret;
}
