import type { SandboxedProcess, SandboxRequest } from './sandbox.ts';

export interface Outcome {
  /** Exit code, or the signal that ended it. */
  code: number | string | null;
  output: string;
  exceeded: string | undefined;
  refusedHosts: readonly string[];
}

/** A shell script as the sandbox takes it, in a folder that it may change. It writes to one stream, so that lines keep their order. */
export function shellScript(
  script: string,
  folder: string,
  more: Partial<SandboxRequest> = {},
): SandboxRequest {
  return {
    command: '/bin/sh',
    args: ['-c', `exec 2>&1; ${script}`],
    cwd: folder,
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: folder },
    writable: [folder],
    network: 'none',
    ...more,
  };
}

/** Waits for the end of a program and collects what it wrote to both streams. */
export async function outcomeOf(running: SandboxedProcess): Promise<Outcome> {
  const { child, exceeded, refusedHosts } = running;
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  const code = await new Promise<number | string | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode, signal) => resolve(exitCode ?? signal));
  });
  return { code, output, exceeded: exceeded(), refusedHosts };
}
