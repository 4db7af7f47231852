import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { type AgentOptions, diagnoseSchedules } from '@trunkline/agent';
import {
  ConfigError,
  defineOptions,
  type Environment,
  homeOptions,
  readOptions,
  reloadEnvironmentFile,
  toggle,
} from '@trunkline/config';
import { createProvider } from '@trunkline/oidc';
import { Policy } from '@trunkline/policy';
import { createSandbox } from '@trunkline/sandbox';
import { checkAccess, type Diagnosis } from '@trunkline/service';
import { errorMessage, systemCode } from '@trunkline/std';
import { dataDirectory } from '@trunkline/storage';
import { diagnoseBus, diagnoseSurfaces } from '@trunkline/switchboard';
import { diagnoseCalls, diagnoseIceServers, diagnoseSpeech } from '@trunkline/voice';
import { checkAddresses } from '../doctor/addresses.ts';
import { mend } from '../doctor/mend.ts';
import { checkModels } from '../doctor/models.ts';
import { checkPorts } from '../doctor/ports.ts';
import { readServiceOptions, type ServiceOptions } from '../fleet/service-options.ts';
import { settingNotes } from '../misspelt.ts';
import { upOptions } from '../options.ts';
import { configuredTools, listedExposures, waitingDescriptions } from './audit-files.ts';
import { defineCommand } from './command.ts';

const words = { ok: 'ok', warning: 'note', failed: 'FAILED' } as const;

const STATE = 7;

const SUBJECT = 22;

const LOW_BYTES = 1024 ** 3;

/** With less, the first start has no room for its databases. */
const NEEDED_BYTES = 16 * 1024 ** 2;

const doctorOptions = defineOptions('trunkline doctor', 'What the services need', {
  ...upOptions.options,
  probe: toggle({
    flag: '--probe',
    doc: 'Tests what the model can do, even if the endpoint charges for it (a few hundred tokens) or a model file has to be loaded.',
    default: false,
  }),
  fix: toggle({
    flag: '--fix',
    doc: 'Mends what needs no decision: rights of files, missing folders, stale records, misspelt names, pages. Writes what it found out about the model into models.yaml. Says what it changed, and touches no data.',
    default: false,
  }),
  json: toggle({ flag: '--json', doc: 'Prints the findings as JSON.', default: false }),
});

/** Looks at everything that the services need and says what to do about each; the exit code is 1 when something failed. */
export async function main(argv: readonly string[], env: Environment): Promise<number> {
  // Before the settings are read: a misspelt name in a file would end the command.
  const flags = flagsOf(argv);
  if (!flags?.fix) return examine(argv, env);
  const show = flags.json ? console.error : console.log;
  const environmentFile = join(process.cwd(), '.env');
  const onFailure = (failure: string) => show(`${words.failed.padEnd(STATE)} ${failure}`);
  const changes = await mend({ home: homeOf(env), environmentFile, onFailure });
  for (const change of changes.length > 0 ? changes : ['nothing that can be mended by itself.'])
    show(`${(changes.length > 0 ? 'fixed' : 'ok').padEnd(STATE)} ${change}`);
  return examine(argv, reloadEnvironmentFile(environmentFile, env));
}

/** The flags alone; undefined where help is asked for or a flag is wrong, which the command itself tells. */
function flagsOf(argv: readonly string[]): { fix: boolean; json: boolean } | undefined {
  if (argv.includes('--help') || argv.includes('-h')) return undefined;
  // Without a home no settings.yaml is read.
  const { trunklineHome: _, ...options } = doctorOptions.options;
  try {
    return readOptions({ ...doctorOptions, options }, { argv, env: {} });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return undefined;
  }
}

function homeOf(env: Environment): string {
  const { trunklineHome: option } = homeOptions;
  const reading = option.read((env.TRUNKLINE_HOME ?? '').trim() || option.default);
  return 'value' in reading ? reading.value : option.default;
}

const examine = defineCommand({
  usage: 'trunkline doctor',
  options: doctorOptions,
  async run(options, env) {
    const services = readServiceOptions(options, env);
    const checks: Promise<Diagnosis[]>[] = [
      checkSettings(env),
      checkModels(services.agent, env, { isAsked: options.probe, saves: options.fix }),
      diagnoseCalls(),
      diagnoseIceServers(services.voice.iceServers),
      diagnoseSpeech(services.voice),
      diagnoseBus(services.switchboard),
      diagnoseSurfaces(services.switchboard),
      checkAddresses(services, env),
      Promise.resolve(diagnoseSchedules(services.agent, env)),
      checkPorts(services),
      checkDirectories(options.trunklineHome),
      checkDoors(options, services, env),
      checkSandbox(services.agent),
      checkDescriptions(options.trunklineHome, services),
      checkSignIn(services.agent),
    ];
    const findings: Diagnosis[] = [];
    for (const check of checks) {
      for (const finding of await check) {
        findings.push(finding);
        if (!options.json) console.log(renderDiagnosis(finding));
      }
    }
    if (options.json) console.log(JSON.stringify(findings, undefined, 2));
    return findings.some(({ state }) => state === 'failed') ? 1 : 0;
  },
});

/** Who may come in without a key. */
async function checkDoors(
  { trunklineHome: home, trunklineOpen: isOpen }: { trunklineHome: string; trunklineOpen: boolean },
  services: ServiceOptions,
  env: Environment,
): Promise<Diagnosis[]> {
  try {
    return checkAccess({ home, isOpen, services: await listedExposures({ home, isOpen }, services, env) });
  } catch (error) {
    return faultOf('access', error);
  }
}

/** Names variables that are likely misspelt. */
async function checkSettings(env: Environment): Promise<Diagnosis[]> {
  const subject = 'settings';
  const notes = await settingNotes(env);
  if (notes.length === 0) return [{ subject, state: 'ok', words: 'no variable looks misspelt.' }];
  return notes.map((words) => ({ subject, state: 'warning', words }));
}

/** Proves that the data directory can be written, and looks at the room left on its disk. */
async function checkDirectories(home: string): Promise<Diagnosis[]> {
  const subject = 'data directory';
  try {
    const { path } = await dataDirectory(undefined, home);
    return [{ subject, state: 'ok', words: `${path} can be written.` }, await roomAt(path)];
  } catch (error) {
    const advice = 'Set TRUNKLINE_HOME to a directory that this user may write.';
    return [{ subject, state: 'failed', words: (error as Error).message, advice }];
  }
}

async function roomAt(path: string): Promise<Diagnosis> {
  const { bavail, bsize } = await statfs(path);
  const free = bavail * bsize;
  const words = `${roomWords(free)} free at ${path}.`;
  if (free > LOW_BYTES) return { subject: 'disk', state: 'ok', words };
  return {
    subject: 'disk',
    state: free < NEEDED_BYTES ? 'failed' : 'warning',
    words,
    advice: 'Free some space, or set TRUNKLINE_HOME to a larger disk.',
  };
}

function roomWords(bytes: number): string {
  const gigabytes = bytes / 1024 ** 3;
  return gigabytes >= 1 ? `${gigabytes.toFixed(1)} GiB` : `${(gigabytes * 1024).toFixed(1)} MiB`;
}

/** Whether programs that a model, a plugin or a configuration chose are kept apart from the services. */
async function checkSandbox({ sandbox: mode, sandboxImage: image }: AgentOptions): Promise<Diagnosis[]> {
  const { isolated, refuses, words, advice } = await createSandbox({ mode, image }).status();
  // Everything but programs works.
  const state = isolated ? 'ok' : refuses && mode === 'require' ? 'failed' : 'warning';
  return [{ subject: 'sandbox', state, words, ...(advice !== undefined && { advice }) }];
}

/** What MCP servers say about their tools, and nobody has accepted. */
async function checkDescriptions(home: string, services: ServiceOptions): Promise<Diagnosis[]> {
  try {
    const { config } = new Policy({ home, logger: { info: () => undefined, error: () => undefined } });
    return [waitingDescriptions(await configuredTools(home, services), config)];
  } catch (error) {
    return faultOf('descriptions', error);
  }
}

/** For a check that reads files of the data directory. */
function faultOf(subject: string, error: unknown): Diagnosis[] {
  if (error instanceof ConfigError) return [{ subject, state: 'failed', words: error.message }];
  // What is wrong with the data directory is told of it alone.
  if (systemCode(error) !== undefined) return [];
  throw error;
}

/** Whether the provider answers at which people sign in to the pages. */
async function checkSignIn(options: AgentOptions): Promise<Diagnosis[]> {
  const subject = 'sign-in';
  const { oidcIssuer: issuer } = options;
  if (issuer === undefined) return [{ subject, state: 'ok', words: 'with keys; OIDC_ISSUER is not set.' }];
  const provider = createProvider(options);
  if (provider === undefined)
    return [
      {
        subject,
        state: 'failed',
        words: 'OIDC_ISSUER is set, but OIDC_CLIENT_ID is not.',
        advice: 'Register Trunkline at the provider, and set OIDC_CLIENT_ID to what it gives.',
      },
    ];
  try {
    await provider.check();
    return [{ subject, state: 'ok', words: `${provider.name} answers at ${issuer}.` }];
  } catch (error) {
    const advice = 'Check OIDC_ISSUER: the address that the provider itself gives as its issuer.';
    return [{ subject, state: 'failed', words: errorMessage(error), advice }];
  }
}

/** One finding as a line, with what to do below it. */
export function renderDiagnosis({ subject, state, words: text, advice }: Diagnosis): string {
  const line = `${words[state].padEnd(STATE)} ${subject.padEnd(SUBJECT)} ${text}`;
  return advice === undefined ? line : `${line}\n${' '.repeat(STATE + SUBJECT + 2)}${advice}`;
}
