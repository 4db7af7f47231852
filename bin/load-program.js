// Runs the bundle that packages/ui/build/program.ts makes. Its chunks are CommonJS, because V8's cache of a script can hold
// every function that ran so far. Node's own cache of a module holds only what stands at its top level: compiling the rest
// again took a quarter of a start.
import { isAscii } from 'node:buffer';
import { subscribe } from 'node:diagnostics_channel';
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire, isBuiltin } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cachedDataVersionTag } from 'node:v8';
import { Script } from 'node:vm';
import { crc32 } from 'node:zlib';

const HEAD = '(function (exports, require, module, __filename, __dirname, __import) {';
const TAIL = '\n})';
const WRAPPER_CHECKSUM = crc32(HEAD + TAIL);
/** Bytes in front of cached data: its checksum, then that of its source. Eight keep the data aligned, so V8 need not copy it. */
const HEADER_SIZE = 8;
const KEEP_MS = 7 * 24 * 60 * 60 * 1000;

/** Runs a chunk, and those that it needs when it asks for them. */
export function runProgram(directory, entry, command, cacheFolder) {
  const chunks = new Map();
  const cache = new ScriptCache(cacheFolder, command);
  const requireLibrary = createRequire(import.meta.url);
  const load = (name) => {
    const loaded = chunks.get(name);
    if (loaded !== undefined) return loaded.exports;
    const chunk = { exports: {} };
    chunks.set(name, chunk);
    try {
      const filename = join(directory, name);
      const run = cache.compile(name, readFileSync(filename), filename).runInThisContext();
      run(chunk.exports, require, chunk, filename, directory, importLibrary);
    } catch (error) {
      // The next one who asks gets the cause too, not half of the exports.
      chunks.delete(name);
      throw error;
    }
    return chunk.exports;
  };
  const require = (id) => {
    if (id.startsWith('./')) return load(id.slice(2));
    if (isBuiltin(id)) return process.getBuiltinModule(id);
    // The file that "import" takes: a library that is also imported must not be there twice.
    return requireLibrary(fileURLToPath(import.meta.resolve(id)));
  };
  // A service says that it has started (packages/service/run.ts), as it may be killed later; other commands end.
  subscribe('trunkline:started', () => cache.write());
  process.once('exit', (code) => code === 0 && cache.write());
  load(entry);
}

function importLibrary(id) {
  return import(id);
}

/** Compiled scripts of a command, kept between starts. Without a folder for them, every start compiles. */
class ScriptCache {
  #folder;
  #suffix;
  /** Scripts that were compiled without cached data. */
  #compiled = new Map();
  /** Names of the files that this process needs. */
  #needed = new Set();

  constructor(folder, command = '') {
    if (/^[a-z]{1,20}$/.test(command)) this.#folder = folder;
    this.#suffix = `${command}-${cachedDataVersionTag()}`;
  }

  /** Compiles the text of a chunk. The builder writes ASCII, which is read at once and takes half of the memory. */
  compile(name, text, filename) {
    const source = HEAD + text.toString(isAscii(text) ? 'latin1' : 'utf8') + TAIL;
    if (this.#folder === undefined) return new Script(source, { filename });
    const path = join(this.#folder.directory, `${name}-${this.#suffix}`);
    const checksum = crc32(text, WRAPPER_CHECKSUM);
    const cachedData = readCached(path, checksum);
    const script = new Script(source, { filename, cachedData });
    this.#needed.add(basename(path));
    if (cachedData === undefined || script.cachedDataRejected) this.#compiled.set(path, { script, checksum });
    return script;
  }

  /** Writes what was compiled, with the functions that ran since, and removes files of former programs. */
  write() {
    if (this.#compiled.size === 0) return;
    try {
      for (const [path, { script, checksum }] of this.#compiled)
        writeCached(path, script.createCachedData(), checksum);
      this.#removeOld();
    } catch {
      // The disk is full, or the folder is gone: the next start compiles again.
    }
    this.#compiled.clear();
  }

  /** Also those of other versions of Node. Other programs may use a shared folder: only our scripts are removed there. */
  #removeOld() {
    const { directory, isShared } = this.#folder;
    const removable = isShared ? /\.cjs-/ : /\.cjs-|^[0-9a-f]{1,8}(?:\.|$)/;
    const folder = dirname(directory);
    for (const version of readdirSync(folder).filter((name) => /^v\d+\.\d+\.\d+-/.test(name)))
      for (const name of readdirSync(join(folder, version))) {
        if (!removable.test(name) || this.#needed.has(name)) continue;
        const path = join(folder, version, name);
        const { mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? {};
        if (Date.now() - mtimeMs > KEEP_MS) rmSync(path, { force: true });
      }
  }
}

// V8 compares only the length of the source and of the data: a damaged byte could crash it at every start.
function readCached(path, checksum) {
  try {
    const file = readFileSync(path);
    const data = file.subarray(HEADER_SIZE);
    const isWhole = file.readUInt32LE(0) === crc32(data) && file.readUInt32LE(4) === checksum;
    return isWhole ? data : undefined;
  } catch {
    // This is the first start, the folder was emptied, or the file ends within its header.
    return undefined;
  }
}

function writeCached(path, data, checksum) {
  const header = Buffer.alloc(HEADER_SIZE);
  header.writeUInt32LE(crc32(data), 0);
  header.writeUInt32LE(checksum, 4);
  const temporary = `${path}.${process.pid}`;
  try {
    writeFileSync(temporary, Buffer.concat([header, data]), { flag: 'wx', mode: 0o600 });
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}
