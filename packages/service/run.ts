import { spawn } from 'node:child_process';
import { channel } from 'node:diagnostics_channel';
import { rmSync, writeFileSync } from 'node:fs';
import { access, constants, mkdir } from 'node:fs/promises';
import { flushCompileCache } from 'node:module';
import { join } from 'node:path';
import {
  ConfigError,
  createLogger,
  type Environment,
  helpText,
  type Logger,
  type LogLevel,
  type OptionsOf,
  type OptionTable,
  readOptions,
  readVariable,
  secretValues,
} from '@trunkline/config';
import { findModelFile, type ModelFileOptions, openModelFile, withModelFile } from '@trunkline/gguf';
import { StartError } from '@trunkline/http';
import { operatorAccess, operatorLink } from '@trunkline/identity';
import { RestartingService, watchSettings } from './restart.ts';
import { type RunningMember, recordRunning, runningProcesses } from './running.ts';
import type { ServiceContext } from './service.ts';

/** The line in the log, for those who look for it. */
export const strayFailure = 'something failed that nobody waited for; it is a defect, please report it';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const IMPATIENT = 130;

interface RunningService {
  url: string;
  stop(): Promise<void>;
  problem?(): Promise<string | undefined>;
}

/** What a service that is run gets beside its options. */
type RunContext = Pick<ServiceContext, 'logger' | 'env' | 'settings'> & {
  /** Keeps another secret out of the log from then on. */
  hide: (secret: string) => void;
  /** Runs a task once the terminal shows the addresses: one that nobody has to wait for. */
  afterAnnouncement: (task: () => void) => void;
};

export interface RunOptions<Table extends OptionTable, Running extends RunningService> {
  /** How the user called it, for help. */
  command: string;
  table: Table;
  argv: readonly string[];
  env: Environment | undefined;
  start(options: OptionsOf<Table>, context: RunContext): Promise<Running>;
  /** Follows settings.yaml itself, as what starts several services does. */
  followsSettings?: boolean;
  /** Where the operator signs in; the address of the service when not given. */
  signInUrl?(running: Running, options: OptionsOf<Table>): string | undefined;
  /** The services that it runs; itself when not given. */
  members?(running: Running): readonly RunningMember[];
  /** What to print once it runs, with the link that signs the operator in and what keeps the model from being used. */
  announce?(running: Running, link: string | undefined, problem: string | undefined): string;
}

const BAD_SETTINGS = 2;

/** Runs a service from its command line until a signal stops it; gives the exit code. */
export async function runService<Table extends OptionTable, Running extends RunningService>(
  run: RunOptions<Table, Running>,
): Promise<number> {
  if (run.argv.includes('--help') || run.argv.includes('-h')) return print(helpText(run.command, run.table));
  try {
    const options = readOptions(run.table, { argv: run.argv, ...(run.env && { env: run.env }) });
    return await serveUntilSignal(run, options);
  } catch (error) {
    if (error instanceof ConfigError) return refuse(error.message, BAD_SETTINGS);
    const words = unwritableWords(error) ?? (isExplained(error) ? error.message : undefined);
    if (words === undefined) throw error;
    return refuse(words, 1);
  }
}

async function serveUntilSignal<Table extends OptionTable, Running extends RunningService>(
  run: RunOptions<Table, Running>,
  options: OptionsOf<Table>,
): Promise<number> {
  const level = levelOf(options);
  const secrets = new Set(secretValues(run.table, options));
  const logger = createLogger({ name: run.table.service, level, secrets });
  outliveStrayFailures(logger);
  const signal = stopSignal();
  // What is compiled by now is on disk then, and its copies in memory make room for what the service needs.
  flushCompileCache();
  const hide = (secret: string) => void secrets.add(secret);
  const later: (() => void)[] = [];
  const afterAnnouncement = (task: () => void) => void later.push(task);
  const context = { logger, hide, afterAnnouncement };
  const running = await startInHome(options, () => startRestarting(run, options, context));
  const { trunklineHome: home } = options as HomeOptions;
  const record =
    home === undefined
      ? undefined
      : await recordRunning(home, run.members?.(running) ?? [{ name: run.table.service, url: running.url }]);
  const link = signInLink(run, running, options);
  const problem = await running.problem?.();
  print(run.announce?.(running, link, problem) ?? introduction(run.table.title, running.url, link, problem));
  showSignIn(link, options, run.env, logger);
  for (const task of later) task();
  // The next start compiles none of the functions that this one ran (bin/load-program.js).
  channel('trunkline:started').publish(undefined);
  const name = await signal;
  logger.info({ signal: name }, 'stopping');
  await running.stop();
  record?.remove();
  return 0;
}

function levelOf(options: object): LogLevel {
  return (options as { logLevel?: LogLevel }).logLevel ?? 'INFO';
}

/** Starts what is run; unless it sees to that itself, it restarts when settings.yaml or the model file of its home change. */
async function startRestarting<Table extends OptionTable, Running extends RunningService>(
  run: RunOptions<Table, Running>,
  options: OptionsOf<Table>,
  given: Pick<RunContext, 'logger' | 'hide' | 'afterAnnouncement'>,
): Promise<Running> {
  const { table, argv, env } = run;
  const { logger, hide } = given;
  const { trunklineHome: home } = options as HomeOptions;
  if (home === undefined || run.followsSettings) return run.start(options, { ...given, ...(env && { env }) });
  let service: RestartingService<OptionsOf<Table>, Running> | undefined;
  let broken: string | undefined;
  const settings = { argv, problem: () => broken ?? service?.problem };
  const context = { ...given, ...(env && { env }), settings };
  const start = (next: OptionsOf<Table>) =>
    startWithModelFile(next, context, (options) => run.start(options, context));
  const started = await RestartingService.start(withModelPath(options, env), { start, logger });
  service = started;
  const watch = await watchSettings(home, {
    env,
    async onChange() {
      try {
        const next = readOptions(table, { argv, ...(env && { env }) });
        for (const secret of secretValues(table, next)) hide(secret);
        broken = undefined;
        logger.setLevel?.(levelOf(next));
        await started.restart(withModelPath(next, env));
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error;
        broken = error.message;
        logger.warn({ problem: broken }, 'failed to read new settings; the last good ones stay');
      }
    },
    onError: (error) => logger.error({ err: error }, 'failed to follow settings.yaml'),
  });
  const stop = async () => {
    // At once: a change under way then starts nothing more.
    await Promise.all([started.stop(), watch.close()]);
  };
  return { ...(started.running as Running), stop };
}

/** Which model file is used depends on the folder of the home and on models.yaml too. */
function withModelPath<Options extends object>(options: Options, env: Environment | undefined): Options {
  if (!('llmGgufPort' in options)) return options;
  const given = options as unknown as ModelFileOptions;
  const modelPath = given.llmUrl === undefined ? findModelFile(given, env) : undefined;
  return modelPath === undefined ? options : { ...options, modelPath };
}

/**
 * Starts a service that runs alone, with the model of a GGUF file where its settings, or its home, have one. The services of
 * one process share a model, so the starter of all four sees to it itself.
 */
async function startWithModelFile<Options extends object, Running extends RunningService>(
  options: Options,
  context: RunContext,
  start: (options: Options) => Promise<Running>,
): Promise<Running> {
  if (!('llmGgufPort' in options)) return start(options);
  const file = await openModelFile(options as unknown as ModelFileOptions, context);
  if (file === undefined) return start(options);
  try {
    const running = await start(withModelFile(options, file.settings));
    return { ...running, stop: () => stopBoth(running, file) };
  } catch (error) {
    await file.stop();
    throw error;
  }
}

async function stopBoth(first: { stop(): Promise<void> }, second: { stop(): Promise<void> }): Promise<void> {
  try {
    await first.stop();
  } finally {
    await second.stop();
  }
}

interface HomeOptions {
  trunklineHome?: string;
  trunklineOpen?: boolean;
  noBrowser?: boolean;
}

function signInLink<Table extends OptionTable, Running extends RunningService>(
  run: RunOptions<Table, Running>,
  running: Running,
  options: OptionsOf<Table>,
): string | undefined {
  const { trunklineHome: home, trunklineOpen: isOpen = false } = options as HomeOptions;
  const url = run.signInUrl === undefined ? running.url : run.signInUrl(running, options);
  if (home === undefined || isOpen || url === undefined) return undefined;
  return operatorLink(operatorAccess(home), url);
}

function showSignIn(
  link: string | undefined,
  options: object,
  env: Environment | undefined,
  logger: Logger,
): void {
  const { trunklineHome: home, noBrowser = false } = options as HomeOptions;
  if (link === undefined || home === undefined || noBrowser) return;
  const desk = { isTerminal: process.stdout.isTTY === true, platform: process.platform, env };
  openInBrowser(link, home, desk, logger);
}

function introduction(
  title: string,
  url: string,
  link: string | undefined,
  problem: string | undefined,
): string {
  const operator = link === undefined ? [] : [`Open as operator: ${link}`];
  return [title, url, ...operator, ...(problem === undefined ? [] : [problem])].join('\n');
}

/**
 * Makes the home, which nobody else on the machine may read, and starts. A home that cannot be used counts only when
 * the service fails on it: one that keeps its data elsewhere needs none.
 */
async function startInHome<Running>(options: object, start: () => Promise<Running>): Promise<Running> {
  const { trunklineHome: home = '' } = options as HomeOptions;
  const failure = home === '' ? undefined : await failureOfHome(home);
  try {
    return await start();
  } catch (error) {
    if (failure !== undefined && String(error).includes(home)) throw failure;
    throw alreadyRunning(error, home) ?? error;
  }
}

/** A port or a folder that another process of this home has is no fault to look for: that one runs. */
function alreadyRunning(error: unknown, home: string): StartError | undefined {
  const { code, message } = error instanceof Error ? (error as Error & { code?: unknown }) : {};
  if (home === '' || (code !== 'port_taken' && code !== 'directory_in_use' && code !== 'journal_in_use'))
    return undefined;
  const port = /^Port (\d+) /.exec(message ?? '')?.[1];
  const other = runningProcesses(home).find(
    ({ urls }) => port === undefined || urls.some((url) => new URL(url).port === port),
  );
  if (other === undefined) return undefined;
  const words = `Trunkline already runs at ${other.urls.join(', ')}, process ${other.pid}. Stop it first (Ctrl-C in its terminal).`;
  return new StartError('already_running', `${words}\n${message}`, { cause: error });
}

async function failureOfHome(home: string): Promise<unknown> {
  try {
    await mkdir(home, { recursive: true, mode: 0o700 });
    await access(home, constants.W_OK);
    return undefined;
  } catch (error) {
    return error;
  }
}

function print(text: string): number {
  console.log(text);
  return 0;
}

/** Failures of the catalogues carry a code and words that say what to do; any other is a defect and shows its stack. */
function isExplained(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && !('syscall' in error);
}

const REFUSALS: Record<string, string> = {
  EACCES: 'this user has no permission',
  EPERM: 'this user has no permission',
  EROFS: 'the disk is read-only',
  ENOTDIR: 'a part of the path is no folder',
  ENOSPC: 'the disk is full',
  EEXIST: 'there is something else in its place',
  ENOENT: 'a link on the way leads nowhere',
};

/** What to do about a place for data that the system refuses; undefined for any other failure. */
function unwritableWords(error: unknown): string | undefined {
  const { code = '', path, syscall } = error as NodeJS.ErrnoException;
  const reason = REFUSALS[code];
  if (reason === undefined || path === undefined) return undefined;
  if ((code === 'EEXIST' || code === 'ENOENT') && syscall !== 'mkdir') return undefined;
  return `${path} cannot be used: ${reason}. Set TRUNKLINE_HOME to a folder that this user may write.`;
}

function refuse(words: string, code: number): number {
  console.error(words);
  return code;
}

/** Waits for the first signal to stop; a second one ends the process at once. */
function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let asked = false;
    for (const signal of SIGNALS) {
      process.on(signal, () => {
        if (asked) process.exit(IMPATIENT);
        asked = true;
        resolve(signal);
      });
    }
  });
}

interface Desk {
  /** Whether a person reads what the program prints. */
  isTerminal: boolean;
  platform: NodeJS.Platform;
  /** The process's own when not given. */
  env?: Environment | undefined;
}

/** The program that opens an address for the person at the terminal; undefined where there is no desktop, or in CI. */
export function browserCommand({ isTerminal, platform, env }: Desk): string[] | undefined {
  const isSet = (name: string) => readVariable(name, env) !== undefined;
  if (!isTerminal || isSet('CI') || isSet('VITEST') || isSet('SSH_CONNECTION')) return undefined;
  if (platform === 'darwin') return ['open'];
  if (platform === 'win32') return ['cmd', '/c', 'start', ''];
  return isSet('DISPLAY') || isSet('WAYLAND_DISPLAY') ? ['xdg-open'] : undefined;
}

/**
 * Opens a link with a secret in the browser of this desktop, by a file that leads there: other accounts of the machine see
 * the arguments of programs. The link stands in the terminal too, so a failure is only logged.
 */
export function openInBrowser(link: string, directory: string, desk: Desk, logger: Logger): void {
  const [program, ...words] = browserCommand(desk) ?? [];
  if (program === undefined) return;
  const file = join(directory, 'open-as-operator.html');
  rmSync(file, { force: true });
  writeFileSync(file, `<!doctype html><meta http-equiv="refresh" content="0;url=${link}">\n`, {
    mode: 0o600,
    flag: 'wx',
  });
  const child = spawn(program, [...words, file], { detached: true, stdio: 'ignore' });
  child.once('error', (error) => logger.debug({ err: error }, 'failed to open the browser'));
  child.unref();
}

/** A promise that fails unseen must not end the calls, tasks and jobs of everybody else: by itself Node would end the process. */
function outliveStrayFailures(logger: Logger): void {
  process.on('unhandledRejection', (reason) => logger.error({ err: reason }, strayFailure));
}
