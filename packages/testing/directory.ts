import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TemporaryDirectory {
  path: string;
  /** Removes the directory with all it holds; calling it again is harmless. */
  remove(): void;
}

export interface TemporaryHome extends TemporaryDirectory {
  /** Variables that keep a program, also a child process, inside this home. */
  environment: Record<string, string>;
}

export function temporaryDirectory(): TemporaryDirectory {
  const path = mkdtempSync(join(tmpdir(), 'trunkline-test-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 3 }) };
}

/** An empty user home with Trunkline's data directory in it. */
export function temporaryHome(): TemporaryHome {
  const directory = temporaryDirectory();
  const trunkline = join(directory.path, '.trunkline');
  mkdirSync(trunkline);
  return {
    ...directory,
    environment: {
      HOME: directory.path,
      USERPROFILE: directory.path,
      TRUNKLINE_HOME: trunkline,
      XDG_CACHE_HOME: join(directory.path, '.cache'),
      XDG_CONFIG_HOME: join(directory.path, '.config'),
      TRUNKLINE_OPEN: '1',
      XDG_DATA_HOME: join(directory.path, '.local', 'share'),
    },
  };
}
