import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Diagnosis } from '@trunkline/service';

const library = '@roamhq/wrtc';
const subject = 'calls';
const again = `Run "npm ci" again, without --omit=optional; ${library} needs glibc on Linux, macOS or Windows.`;
const limitMs = 30_000;
const probe = `const { RTCPeerConnection } = require('${library}'); new RTCPeerConnection().close(); process.exit(0)`;

/** Checks whether the WebRTC library loads, seen from a directory. */
export async function diagnoseCalls(directory = import.meta.dirname): Promise<Diagnosis[]> {
  if (!isInstalled(directory))
    return [
      { subject, state: 'warning', words: `not installed: ${library}, so nobody can call.`, advice: again },
    ];
  const failure = await whyItFails(directory);
  if (failure === undefined) return [{ subject, state: 'ok', words: `${library} loads, calls can come in.` }];
  return [{ subject, state: 'failed', words: `${library} does not load: ${failure}.`, advice: again }];
}

function isInstalled(directory: string): boolean {
  try {
    createRequire(join(directory, 'here.js')).resolve(library);
    return true;
  } catch {
    return false;
  }
}

/** Runs in a child process, as native code that does not fit this machine may crash it. */
async function whyItFails(directory: string): Promise<string | undefined> {
  try {
    await promisify(execFile)(process.execPath, ['-e', probe], { cwd: directory, timeout: limitMs });
    return undefined;
  } catch (error) {
    return reasonOf(error as Error & { signal?: string; killed?: boolean; stderr?: string });
  }
}

function reasonOf({ killed, signal, stderr = '' }: { killed?: boolean; signal?: string; stderr?: string }) {
  if (killed) return `it took longer than ${limitMs / 1000} s`;
  if (signal) return `it crashed with ${signal}`;
  return /^\w*Error: (.+)$/m.exec(stderr)?.[1] ?? 'it ended without a word';
}
