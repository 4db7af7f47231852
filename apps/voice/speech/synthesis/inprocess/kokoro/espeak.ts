import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { Diagnosis } from '@trunkline/service';
import { errorMessage } from '@trunkline/std';
import { SpeechError } from '../../../speech-error.ts';
import { diagnoseWeights, findWeights, provenPaths } from '../../../weights.ts';
import { once } from '../../../worker/serve.ts';

const run = promisify(execFile);

const timeoutMs = 5000;

/** Writes a text in IPA, as a voice of espeak-ng reads it. */
type Espeak = (text: string, voice: string, signal?: AbortSignal) => Promise<string>;

export const espeakWeights = findWeights('eSpeak NG');

/**
 * The package goes before the program: it is of one version, verified by its checksum, and reads a clause in a
 * millisecond, where the program is a new process for each clause. Undefined if neither is there.
 */
export async function openEspeak(): Promise<Espeak | undefined> {
  return (await packageReader()) ?? (await programReader());
}

/** Says what reads, and that nothing does only where the language of INPROC_LANG needs it: those of users and skills are not known here. */
export async function diagnoseEspeak(isNeeded: boolean): Promise<Diagnosis[]> {
  const found = await diagnoseWeights(espeakWeights.purpose);
  if (found.state === 'ok') return [found];
  // A damaged package is a failure only where nothing else reads.
  const damage: Diagnosis[] = found.state === 'failed' ? [{ ...found, state: 'warning' }] : [];
  try {
    await findProgram();
    return [...damage, { subject: found.subject, state: 'ok', words: 'the program espeak-ng is installed.' }];
  } catch (error) {
    if (!isNeeded) return damage;
    if (isAbsent(error)) return [found];
    const reason = errorMessage(error).trim().replace(/\s+/g, ' ');
    return [{ ...found, words: `${found.words} The program espeak-ng does not run: ${reason}.` }];
  }
}

/** What is used of the package. It blocks the thread, for about a millisecond a clause. */
interface EspeakLibrary {
  /** Another object after the memory has grown. */
  readonly HEAPU8: Uint8Array;
  readonly eSpeakNGWorker: new () => {
    /** 0, or the number of an error. */
    set_voice(name: string): number;
    /** The address of a text that ends with a zero byte and lasts until the next call. */
    convert_to_phonemes(text: string, isIpa: boolean): { ptr: number };
  };
}

type LoadEspeak = (options: { getPreloadedPackage(): ArrayBuffer }) => Promise<EspeakLibrary>;

const loadPackage = once(async (): Promise<Espeak> => {
  const [script = '', data = ''] = await provenPaths(espeakWeights.name);
  const { default: load } = (await import(pathToFileURL(script).href)) as { default: LoadEspeak };
  const bytes = new Uint8Array(await readFile(data));
  // The library waits for ever for a file that it cannot read itself.
  const library = await load({ getPreloadedPackage: () => bytes.buffer });
  const reader = new library.eSpeakNGWorker();
  let current: string | undefined;
  return async (text, voice) => {
    if (voice !== current && reader.set_voice(voice) !== 0)
      throw new Error(`the package ${espeakWeights.package} has no voice ${voice}`);
    current = voice;
    const { ptr } = reader.convert_to_phonemes(text, true);
    const { HEAPU8: memory } = library;
    return plainIpa(Buffer.from(memory.subarray(ptr, memory.indexOf(0, ptr))).toString('utf8'));
  };
});

/** Undefined if the package is absent or damaged, which doctor reports. */
async function packageReader(): Promise<Espeak | undefined> {
  try {
    return await loadPackage();
  } catch (error) {
    if (error instanceof SpeechError && error.code === 'missing') return undefined;
    throw error;
  }
}

let isProgramFound = false;

/** Looked for until it is found, and again once it is gone: somebody may install or remove it while the service runs. */
async function findProgram(): Promise<void> {
  if (!isProgramFound) await run('espeak-ng', ['--version'], { timeout: timeoutMs });
  isProgramFound = true;
}

const isAbsent = (error: unknown) => error instanceof Error && 'code' in error && error.code === 'ENOENT';

/** Undefined if the program is absent or does not run, which doctor reports. */
async function programReader(): Promise<Espeak | undefined> {
  try {
    await findProgram();
  } catch {
    return undefined;
  }
  return async (text, voice, signal) => {
    try {
      const { stdout } = await run('espeak-ng', ['-q', '--ipa', '-v', voice, '--', text], {
        timeout: timeoutMs,
        ...(signal && { signal }),
      });
      return plainIpa(stdout);
    } catch (error) {
      if (isAbsent(error)) isProgramFound = false;
      throw error;
    }
  };
}

/** Without what stands between phonemes and clauses, and around words of another language: the voice would read "(en)". */
function plainIpa(written: string): string {
  return written
    .replaceAll('_', '')
    .replace(/\|/g, ' ')
    .replace(/\([a-z][a-z-]*\)/g, '')
    .trim()
    .replace(/\s+/g, ' ');
}
