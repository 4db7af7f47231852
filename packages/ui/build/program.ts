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
import http from 'node:http';
import { dirname, join, relative } from 'node:path';
import { type Plugin, rolldown } from 'rolldown';

const PROGRAM = 'node_modules/.trunkline';
const KEEP_MS = 24 * 60 * 60 * 1000;

// Libraries that every start loads. Others stay in their packages, which some of them need (threads, binaries).
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
  'bintrees',
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
  'tdigest',
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
    const thread = await bundleFile(file, [httpWithoutFetch(), keepLibraries(), keepPlaces(root)], false);
    threads.push(thread);
    return thread.entry;
  };
  const plugins = [httpWithoutFetch(), keepLibraries(), bundleThreads(bundleThread), keepPlaces(root)];
  const program = await bundleFile(join(root, 'apps/trunkline/main.ts'), plugins, true);
  const bundles = [program, ...threads];
  const chunks = bundles.flatMap((bundle) => bundle.chunks);
  for (const { fileName, code } of chunks) writeWhole(join(directory, fileName), code);
  const sources = new Set(bundles.flatMap((bundle) => bundle.sources));
  const inputs = [...sources, join(root, 'package-lock.json')].map((file) => describeFile(root, file));
  writeWhole(join(directory, 'program.json'), JSON.stringify({ entry: program.entry, inputs }));
  removeOld(directory, new Set(chunks.map(({ fileName }) => fileName)));
}

interface Bundle {
  entry: string;
  chunks: { fileName: string; code: string }[];
  sources: string[];
}

async function bundleFile(input: string, plugins: Plugin[], splits: boolean): Promise<Bundle> {
  const bundle = await rolldown({
    input,
    platform: 'node',
    resolve: { conditionNames: ['node', 'import'] },
    logLevel: 'warn',
    plugins,
  });
  const { output } = await bundle.generate({
    entryFileNames: '[name]-[hash].mjs',
    chunkFileNames: '[name]-[hash].mjs',
    codeSplitting: splits,
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

/** Path, size and time of change: what bin/trunkline.js compares before it takes the bundle. */
function describeFile(root: string, file: string): [string, number, number] {
  const { size, mtimeMs } = statSync(file);
  return [relative(root, file), size, mtimeMs];
}

/** Node loads its whole fetch for these as soon as a module imports node:http: 13 MB, 65 ms of processor time. */
const FETCH_NAMES = new Set(['CloseEvent', 'MessageEvent', 'WebSocket']);

/** Gives modules node:http as `require` would, which leaves fetch to those who call it. */
function httpWithoutFetch(): Plugin {
  const id = '\0http-without-fetch';
  const names = Object.keys(http).filter((name) => !FETCH_NAMES.has(name));
  return {
    name: 'trunkline-http-without-fetch',
    resolveId: (source) => (source === 'node:http' || source === 'http' ? id : undefined),
    load: (loaded) =>
      loaded === id
        ? `const http = process.getBuiltinModule('node:http');
           export default http;
           export const { ${names.join(', ')} } = http;`
        : undefined,
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
