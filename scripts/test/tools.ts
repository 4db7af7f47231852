import { execFileSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

export interface Tool {
  name: string;
  packages: string[];
  hint: string;
}

const tools: Tool[] = [
  {
    name: 'chromium',
    packages: ['chromium'],
    hint: 'Browser tests were skipped: install Chromium and run npm test again.',
  },
  {
    name: 'chromium-headless-shell',
    // Both are of one release: the older one is upgraded along with it.
    packages: ['chromium-headless-shell', 'chromium'],
    hint: 'Browser tests take longer without it: they run in Chromium instead.',
  },
  {
    name: 'nats-server',
    packages: ['nats-server'],
    hint: 'NATS tests were skipped: install nats-server and run npm test again.',
  },
  {
    name: 'turnserver',
    packages: ['coturn'],
    hint: 'The test of a TURN relay was skipped: install coturn and run npm test again.',
  },
  {
    name: 'bwrap',
    packages: ['bubblewrap'],
    hint: 'Sandbox tests were skipped: install bubblewrap and run npm test again.',
  },
];

/** A machine that cannot reach a mirror learns so at once. */
const QUICK = ['-o', 'Acquire::http::Timeout=15', '-o', 'Acquire::Retries=0'];

/** Installs what the tests need where that is possible (root on Debian) and returns what is still missing. */
export function ensureTools(): Tool[] {
  const absent = tools.filter(isMissing);
  if (absent.length > 0 && canInstall()) install(absent);
  return tools.filter(isMissing);
}

function isMissing(tool: Tool): boolean {
  const directories = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  return ![...directories, '/usr/sbin'].some((directory) => isExecutable(join(directory, tool.name)));
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function canInstall(): boolean {
  return process.getuid?.() === 0 && existsSync('/etc/debian_version');
}

// A failed installation is no failed test: what is missing is named at the end.
function install(absent: Tool[]): void {
  const names = [...new Set(absent.flatMap((tool) => tool.packages))];
  console.log(`Installing ${names.join(' and ')} for the tests (apt-get) ...`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  try {
    execFileSync('apt-get', [...QUICK, 'update', '-qq'], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env,
      timeout: 300_000,
    });
    const args = [...QUICK, 'install', '-y', '-qq', '--no-install-recommends', '--no-remove', ...names];
    execFileSync('apt-get', args, { stdio: ['ignore', 'ignore', 'inherit'], env, timeout: 600_000 });
  } catch (error) {
    console.error(`apt-get could not install ${names.join(' and ')}: ${(error as Error).message}`);
  }
}
