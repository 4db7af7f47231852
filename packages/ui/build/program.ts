// Bundles the command line and the four services: resolving and reading some 1,100 files is half of a start.
// The bundle lies in node_modules, so that "npm ci" removes an old one; bin/trunkline.js runs it while it is fresh.
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { type CodeSplittingGroup, type Plugin, rolldown } from 'rolldown';
import { adaptToScript } from './script-chunks.ts';

const PROGRAM = 'node_modules/.trunkline';
const SERVICES = ['voice', 'agent', 'research', 'switchboard'] as const;
const KEEP_MS = 24 * 60 * 60 * 1000;

// Libraries that every start loads. Others stay in their packages, which some of them need (threads, binaries; bintrees
// sets variables that it does not declare, and chunks are strict).
const BUNDLED = new Set([
  '@a2a-js/sdk',
  '@ai-sdk/gateway',
  '@ai-sdk/openai-compatible',
  '@ai-sdk/provider',
  '@ai-sdk/provider-utils',
  '@hono/node-server',
  '@hono/standard-validator',
  '@opentelemetry/api',
  '@pinojs/redact',
  '@standard-community/standard-json',
  '@standard-community/standard-openapi',
  '@vercel/oidc',
  '@workflow/serde',
  'ai',
  'atomic-sleep',
  'chokidar',
  'croner',
  'eventsource-parser',
  'hono',
  'hono-openapi',
  'jose',
  'on-exit-leak-free',
  'pino',
  'pino-std-serializers',
  'prom-client',
  'quansync',
  'quick-format-unescaped',
  'readdirp',
  'safe-stable-stringify',
  'sonic-boom',
  'thread-stream',
  'yaml',
  'zod',
]);

/** Bundles apps/trunkline of a repository, and notes the files it came from. Older chunks stay a day for processes that run them. */
export async function bundleProgram(root: string): Promise<void> {
  const directory = join(root, PROGRAM);
  mkdirSync(directory, { recursive: true });
  const threads: Bundle[] = [];
  const bundleThread = async (file: string) => {
    const thread = await bundleFile(file, [lateBuiltins(), keepLibraries(), keepPlaces(root)]);
    threads.push(thread);
    return thread.entry;
  };
  const plugins = [
    lateBuiltins(),
    keepLibraries(),
    bundleThreads(bundleThread),
    keepPlaces(root),
    adaptToScript(),
  ];
  const main = join(root, 'apps/trunkline/main.ts');
  const { groups, plugin } = startChunks(main);
  const program = await bundleFile(main, [...plugins, plugin], groups);
  const bundles = [program, ...threads];
  const chunks = bundles.flatMap((bundle) => bundle.chunks);
  for (const { fileName, code } of chunks) writeWhole(join(directory, fileName), code);
  const sources = new Set(bundles.flatMap((bundle) => bundle.sources));
  // The builder and the loader have to agree on the form of a chunk.
  const builder = [import.meta.filename, join(import.meta.dirname, 'script-chunks.ts')];
  const others = [join(root, 'package-lock.json'), join(root, 'bin/load-program.js'), ...builder];
  const inputs = [...sources, ...others].map((file) => describeFile(root, file));
  writeWhole(join(directory, 'program.json'), JSON.stringify({ entry: program.entry, inputs }));
  removeOld(directory, new Set(chunks.map(({ fileName }) => fileName)));
}

interface Bundle {
  entry: string;
  chunks: { fileName: string; code: string }[];
  sources: string[];
}

/** Without groups of chunks, everything goes into one file. */
async function bundleFile(input: string, plugins: Plugin[], groups?: CodeSplittingGroup[]): Promise<Bundle> {
  const bundle = await rolldown({
    input,
    platform: 'node',
    resolve: { conditionNames: ['node', 'import'] },
    logLevel: 'warn',
    plugins,
  });
  const ending = groups === undefined ? 'mjs' : 'cjs';
  const { output } = await bundle.generate({
    format: groups === undefined ? 'esm' : 'cjs',
    entryFileNames: `[name]-[hash].${ending}`,
    chunkFileNames: `[name]-[hash].${ending}`,
    codeSplitting: groups === undefined ? false : { groups },
    // As modules are: what fails in the sources must not pass silently here.
    strict: true,
    // One character beyond Latin-1 doubles the memory of a whole file.
    charset: 'ascii',
    // Names stay, for stack traces.
    minify: { mangle: false, compress: false, codegen: { removeWhitespace: true } },
  });
  const sources = (await bundle.watchFiles).filter((file) => !file.includes('/node_modules/'));
  await bundle.close();
  const chunks = output.filter((file) => file.type === 'chunk');
  return { entry: output[0].fileName, chunks, sources };
}

/**
 * Few and large chunks for what a start loads: one for the command line, one for what several services share, one for each
 * service. What is imported later stays apart. The main module has a chunk of its own.
 */
function startChunks(main: string): { groups: CodeSplittingGroup[]; plugin: Plugin } {
  /** Modules that the program and the services import at their start. */
  const reached = new Map<string, ReadonlySet<string>>();
  const reaches = (name: string, id: string) => reached.get(name)?.has(id) ?? false;
  const isShared = (id: string) => SERVICES.filter((name) => reaches(name, id)).length > 1;
  return {
    groups: [
      { name: 'command-line', priority: 3, test: (id) => id !== main && reaches('main', id) },
      { name: 'services', priority: 2, test: isShared },
      ...SERVICES.map((name) => ({ name, priority: 1, test: (id: string) => reaches(name, id) })),
    ],
    plugin: {
      name: 'trunkline-start-chunks',
      buildEnd() {
        const reachedFrom = (entry: string) => {
          const found = new Set([entry]);
          for (const id of found)
            for (const next of this.getModuleInfo(id)?.importedIds ?? []) found.add(next);
          return found;
        };
        reached.set('main', reachedFrom(main));
        for (const name of SERVICES)
          reached.set(name, reachedFrom(join(dirname(main), '..', name, 'index.ts')));
      },
    },
  };
}

/** Path, size and time of change: what bin/trunkline.js compares before it takes the bundle. */
function describeFile(root: string, file: string): [string, number, number] {
  const { size, mtimeMs } = statSync(file);
  return [relative(root, file), size, mtimeMs];
}

/** Node loads its whole fetch for these as soon as a module imports node:http: 13 MB, 65 ms of processor time. */
const FETCH_NAMES = new Set(['CloseEvent', 'MessageEvent', 'WebSocket']);

/** Modules of Node that a start can do without, or needs late. */
const LATE_BUILTINS = new Set(
  'child_process cluster crypto dgram dns dns/promises http http2 https inspector net perf_hooks readline readline/promises sqlite stream/consumers tls v8 vm worker_threads zlib'.split(
    ' ',
  ),
);

/** Gives modules those of Node as `require` would, each when the first of its names is used. */
function lateBuiltins(): Plugin {
  const prefix = '\0late-';
  return {
    name: 'trunkline-late-builtins',
    resolveId(source) {
      const name = source.replace(/^node:/, '');
      return LATE_BUILTINS.has(name) ? `${prefix}${name}` : undefined;
    },
    load(id) {
      if (!id.startsWith(prefix)) return undefined;
      const name = `node:${id.slice(prefix.length)}`;
      const names = Object.keys(process.getBuiltinModule(name) ?? {}).filter(
        (each) => !FETCH_NAMES.has(each),
      );
      return `for (const name of ${JSON.stringify(names)})
        Object.defineProperty(exports, name, {
          enumerable: true, configurable: true,
          get() {
            const value = process.getBuiltinModule(${JSON.stringify(name)})[name];
            Object.defineProperty(exports, name, { value, enumerable: true });
            return value;
          },
        });`;
    },
  };
}

function keepLibraries(): Plugin {
  return {
    name: 'trunkline-keep-libraries',
    resolveId(source) {
      const name = /^(?:@[^/]+\/)?[^./][^/]*/.exec(source)?.[0];
      if (name === undefined || name.startsWith('@trunkline/') || BUNDLED.has(name)) return undefined;
      return { id: source, external: true };
    },
  };
}

/** Threads and processes that are started by the address of their source run a bundle of one file. */
function bundleThreads(bundleThread: (file: string) => Promise<string>): Plugin {
  const start = /\b((?:new Worker|fork)\(new URL\()'(\.\/[^']+)', import\.meta\.url\)/g;
  return {
    name: 'trunkline-bundle-threads',
    async transform(code, id) {
      if (id.includes('/node_modules/')) return undefined;
      let result = code;
      for (const [found, call, path = ''] of code.matchAll(start)) {
        const entry = await bundleThread(join(dirname(id), path));
        // Written so that keepPlaces leaves it alone: the bundle lies beside the program's.
        result = result.replace(found, `${call}'./${entry}', import.meta['url'])`);
      }
      return result === code ? undefined : result;
    },
  };
}

/** Sources find files and other threads beside themselves, wherever the repository lies. */
function keepPlaces(root: string): Plugin {
  return {
    name: 'trunkline-keep-places',
    transform(code, id) {
      if (!code.includes('import.meta.') || id.includes('/node_modules/')) return undefined;
      const path = relative(root, id).replaceAll('\\', '/');
      const up = `/${PROGRAM}`.length;
      return code
        .replaceAll('import.meta.dirname', `(import.meta.dirname.slice(0, -${up}) + "/${dirname(path)}")`)
        .replaceAll('import.meta.url', `new URL("../../${path}", import.meta.url).href`)
        .replaceAll('import.meta.main', 'false');
    },
  };
}

function writeWhole(path: string, text: string): void {
  if (existsSync(path) && readFileSync(path, 'utf8') === text) {
    utimesSync(path, new Date(), new Date());
    return;
  }
  const temporary = `${path}.${process.pid}.tmp`;
  writeFileSync(temporary, text);
  renameSync(temporary, path);
}

function removeOld(directory: string, present: ReadonlySet<string>): void {
  for (const name of readdirSync(directory)) {
    const path = join(directory, name);
    const isOld = name !== 'program.json' && Date.now() - statSync(path).mtimeMs > KEEP_MS;
    if (isOld && !present.has(name)) rmSync(path, { force: true });
  }
}
