import { type ChildProcess, spawn } from 'node:child_process';
import { access, constants, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ConcurrencyLimiter } from '@trunkline/std';
import { researchErrors } from '../errors.ts';

export interface PdfOptions {
  /** The program; looked for on the path when not given. RESEARCH_CHROMIUM. */
  program?: string | undefined;
  /** Folders with programs, as in PATH. */
  path: string;
  timeoutMs?: number;
}

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const AT_ONCE = 2;

/** Prints pages to PDF with Chromium, at most two at once. */
export class PdfPrinter {
  readonly #options: PdfOptions;
  readonly #limiter = new ConcurrencyLimiter({ limit: AT_ONCE });

  constructor(options: PdfOptions) {
    this.#options = options;
  }

  /** The page must be whole in itself: nothing is loaded for it. */
  async print(html: string, signal: AbortSignal): Promise<Uint8Array> {
    const program = await this.#find();
    if (program === undefined)
      throw researchErrors.format_unavailable({
        words:
          'A PDF is made by Chromium, and there is none here. Install it or set RESEARCH_CHROMIUM to its path, or take another format.',
      });
    return await this.#limiter.run(() => this.#printWith(program, html, signal), { signal });
  }

  async #printWith(program: string, html: string, signal: AbortSignal): Promise<Uint8Array> {
    const directory = await mkdtemp(join(tmpdir(), 'trunkline-pdf-'));
    try {
      const [page, output] = [join(directory, 'report.html'), join(directory, 'report.pdf')];
      await writeFile(page, html);
      const limit = AbortSignal.timeout(this.#options.timeoutMs ?? 60_000);
      const env = { PATH: this.#options.path, HOME: directory };
      await run(program, flagsFor(directory, page, output), AbortSignal.any([signal, limit]), env);
      return await readFile(output).catch((error: unknown) => {
        throw failed('it wrote no file', error);
      });
    } finally {
      await rm(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    }
  }

  async #find(): Promise<string | undefined> {
    const { program, path } = this.#options;
    if (program !== undefined) return program;
    for (const folder of path.split(delimiter).filter(Boolean))
      for (const name of NAMES) {
        const candidate = join(folder, name);
        if (await isExecutable(candidate)) return candidate;
      }
    return undefined;
  }
}

function flagsFor(directory: string, page: string, output: string): string[] {
  return [
    '--headless',
    '--disable-gpu',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-extensions',
    '--disable-sync',
    '--disable-dev-shm-usage',
    // Root, as in containers, cannot have the sandbox; the page has no scripts and reaches nothing.
    ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
    '--host-resolver-rules=MAP * ~NOTFOUND',
    `--user-data-dir=${join(directory, 'profile')}`,
    '--no-pdf-header-footer',
    `--print-to-pdf=${output}`,
    pathToFileURL(page).href,
  ];
}

/** Runs to its end or to the abort; its whole family of processes is gone afterwards. */
async function run(
  program: string,
  flags: string[],
  signal: AbortSignal,
  env: Record<string, string>,
): Promise<void> {
  signal.throwIfAborted();
  const child = spawn(program, flags, { stdio: 'ignore', detached: true, env });
  const end = () => endFamily(child);
  signal.addEventListener('abort', end, { once: true });
  try {
    const code = await exitOf(child);
    if (signal.aborted) throw failed('it took too long', signal.reason);
    if (code !== 0) throw failed(`it ended with code ${code}`);
  } finally {
    signal.removeEventListener('abort', end);
    end();
  }
}

function exitOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(failed('it could not be started', error)));
    child.once('exit', (code) => resolve(code));
  });
}

/** The process leads a group of its own, in which its helpers are. */
function endFamily({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    const isGone = error instanceof Error && 'code' in error && error.code === 'ESRCH';
    if (!isGone) throw error;
  }
}

function failed(why: string, cause?: unknown): Error {
  const words = `Chromium could not print the report: ${why}. Check RESEARCH_CHROMIUM, or take another format.`;
  return researchErrors.format_unavailable({ words }, { cause });
}

async function isExecutable(file: string): Promise<boolean> {
  return await access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}
