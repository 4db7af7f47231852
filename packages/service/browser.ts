import { spawn } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Environment, type Logger, readVariable } from '@trunkline/config';

export interface Desk {
  /** Whether a person reads what the program prints. */
  isTerminal: boolean;
  platform: NodeJS.Platform;
  /** The process's own when not given. */
  env?: Environment | undefined;
}

/** The program that opens an address for the person at the terminal; undefined where there is no desktop, or in CI. */
export function browserCommand({ isTerminal, platform, env }: Desk): string[] | undefined {
  const isSet = (name: string) => readVariable(name, env) !== undefined;
  if (!isTerminal || isSet('CI') || isSet('VITEST') || isSet('SSH_CONNECTION')) return undefined;
  if (platform === 'darwin') return ['open'];
  if (platform === 'win32') return ['cmd', '/c', 'start', ''];
  return isSet('DISPLAY') || isSet('WAYLAND_DISPLAY') ? ['xdg-open'] : undefined;
}

/**
 * Opens a link with a secret in the browser of this desktop, by a file that leads there: other accounts of the machine see
 * the arguments of programs. The link stands in the terminal too, so a failure is only logged.
 */
export function openInBrowser(link: string, directory: string, desk: Desk, logger: Logger): void {
  const [program, ...words] = browserCommand(desk) ?? [];
  if (program === undefined) return;
  const file = join(directory, 'open-as-operator.html');
  rmSync(file, { force: true });
  writeFileSync(file, `<!doctype html><meta http-equiv="refresh" content="0;url=${link}">\n`, {
    mode: 0o600,
    flag: 'wx',
  });
  const child = spawn(program, [...words, file], { detached: true, stdio: 'ignore' });
  child.once('error', (error) => logger.debug({ err: error }, 'failed to open the browser'));
  child.unref();
}
