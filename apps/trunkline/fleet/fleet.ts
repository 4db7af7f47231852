import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { openAccounts } from '@trunkline/accounts';
import * as agent from '@trunkline/agent';
import { type Environment, type Logger, secretStoreOf } from '@trunkline/config';
import { findModelFile, type ModelFileOptions, type OpenModelFile, openModelFile } from '@trunkline/gguf';
import { isLoopbackHost } from '@trunkline/http';
import { type OperatorAccess, readOrCreateSecret } from '@trunkline/identity';
import * as research from '@trunkline/research';
import {
  operatorOf,
  type Peers,
  RestartingService,
  type Service,
  type ServiceContext,
  type ServiceLink,
  watchSettings,
} from '@trunkline/service';
import { type SetupOptions, variableOverrides } from '@trunkline/setup';
import { errorMessage } from '@trunkline/std';
import * as switchboard from '@trunkline/switchboard';
import * as voice from '@trunkline/voice';
import { optionTables } from '../options.ts';
import { checkPlainSecrets } from '../secrets/import-secrets.ts';
import { version } from '../version.ts';
import {
  readServiceOptions,
  type ServiceOptions,
  secretsOf,
  serviceTables,
  type UpOptions,
  voiceDefaults,
  withModel,
} from './service-options.ts';
import { StartNotices } from './start-notices.ts';

const purposes: Record<string, string> = {
  voice: 'talk to an agent in the browser',
  agent: 'give tasks to an agent, in chat or over A2A',
  research: 'ask with sources, or order a report',
  switchboard: 'wire surfaces, agents and schedules together',
};

interface Member extends Pick<Service, 'url' | 'routes'> {
  name: string;
}

/** The four services of one process. */
export interface Fleet extends Omit<Service, 'routes'> {
  members: readonly Member[];
  options: UpOptions;
  operator: OperatorAccess;
  /** Which bus is used, for people. */
  bus: string;
  notices: StartNotices;
}

export interface FleetSettings {
  options: UpOptions;
  env: Environment;
  logger: Logger;
  /** Keeps a secret out of the log. */
  hide: (secret: string) => void;
  /** Puts off a task that the start need not wait for; it is run at once when this is not given. */
  afterAnnouncement?: (task: () => void) => void;
}

/** Options, with those beside a model file where there is one. */
type FileOptions = SetupOptions & { withoutModelFile?: SetupOptions };

/** One of the services, which restarts when its own options change. */
interface RunningMember {
  name: ServiceName;
  service: RestartingService<object, Service>;
  /** Of peers, registered since its last start. */
  listeners: (() => void)[];
}

/**
 * Starts the services; when one cannot start, the others are stopped again. The agent waits for the switchboard, whose address
 * it needs. The others start meanwhile: the switchboard waits for its journal's thread and for disks.
 */
export async function startFleet(settings: FleetSettings): Promise<Fleet> {
  const { options, env, logger, hide, afterAnnouncement = (task: () => void) => task() } = settings;
  const home = options.trunklineHome;
  const members: RunningMember[] = [];
  /** Each as it ran last: one that restarts asks for a key as before. */
  const latest = new Map<ServiceName, Service>();
  const modelFile = new FleetModelFile(settings);
  let read = await modelFile.open(readServiceOptions(options, env));
  const notices = new StartNotices();
  let broken: string | undefined;
  const serviceToken = readOrCreateSecret(home, 'family-secret');
  const accounts = openAccounts({ home, logger });
  const operator = operatorOf(options, { logger, accounts });
  for (const each of [serviceToken, ...secretsOf(read)]) hide(each);
  const overrides = () => [
    ...Object.values<FileOptions>(read).flatMap((own) => variableOverrides(own.withoutModelFile ?? own)),
    ...members.flatMap(({ service }) => service.running?.overrides?.() ?? []),
  ];
  const plainSecrets = () => {
    const environmentFile = join(process.cwd(), '.env');
    return checkPlainSecrets({
      home,
      environmentFile,
      services: read,
      tables: optionTables,
      store: secretStoreOf(env),
    });
  };
  let isComplete = false;
  /** Once all are there at the start: each listener asks all the others for their cards. */
  const notifyPeers = () => {
    if (isComplete) for (const listener of members.flatMap(({ listeners }) => listeners)) listener();
  };
  const startMember = async (name: ServiceName, given: object, listeners: RunningMember['listeners']) => {
    const peers: Peers = {
      serviceToken,
      get agentName() {
        return read.agent.agentName;
      },
      // At the start those that it stops before, whichever is quicker: the switchboard would ask the others for their cards.
      find: (other) =>
        isComplete || names.indexOf(other as ServiceName) < names.indexOf(name)
          ? linksTo(members).find((service) => service.name === other)
          : undefined,
      // One that has not started yet may ask for a key: nobody gets in through the others meanwhile.
      namesWithKey: () => names.filter((other) => latest.get(other)?.requiresKey?.() ?? !isComplete),
      onChange: (listener) => void listeners.push(listener),
    };
    const problem = () => broken ?? members.find((member) => member.name === name)?.service.problem;
    const own = logger.child({ service: name });
    const running = await starters[name](given as never, {
      // What others reach is worth a warning in the log, whatever the introduction says.
      logger: isLoopbackHost(read[name].host) ? notices.collect(own) : own,
      hide,
      services: () => linksWithStates(members, publicAddresses(read)),
      peers,
      // Who the operator is follows from the options of each start: one may go on with its old ones.
      accounts,
      env,
      overrides,
      settings: {
        tables: Object.values(serviceTables),
        ...(name === 'voice' && { defaults: voiceDefaults(env) }),
        problem,
        plainSecrets,
      },
      portVariable: `${name.toUpperCase()}_PORT`,
    });
    latest.set(name, running);
    notifyPeers();
    return running;
  };
  const reload = async () => {
    try {
      const given = readServiceOptions(options, env);
      for (const secret of secretsOf(given)) hide(secret);
      read = await modelFile.open(given);
      logger.setLevel?.(read.agent.logLevel);
      broken = undefined;
    } catch (error) {
      broken = errorMessage(error);
      logger.warn({ problem: broken }, 'failed to use new settings; the last good ones stay');
      return;
    }
    for (const { name, service } of members) await service.restart(read[name]);
  };
  const begin = async (name: ServiceName) => {
    const listeners: RunningMember['listeners'] = [];
    const service = await RestartingService.start<object, Service>(read[name], {
      start: (given) => startMember(name, given, listeners),
      logger: logger.child({ service: name }),
      onStop: () => listeners.splice(0),
    });
    members.push({ name, service, listeners });
    members.sort((a, b) => names.indexOf(a.name) - names.indexOf(b.name));
  };
  let watch: { close(): Promise<void> } | undefined;
  const stop = async () => {
    // At once: a change under way then starts nothing more.
    const closed = watch?.close();
    try {
      await stopAll(members);
    } finally {
      await closed;
      await modelFile.stop();
    }
  };
  try {
    const board = begin('switchboard');
    const agent = board.then(() => begin('agent'));
    await allStarted([board, agent, begin('research'), begin('voice')]);
    isComplete = true;
    // This loads Node's fetch and asks for three cards: 50 ms that nobody has to wait for.
    afterAnnouncement(notifyPeers);
    const onError = (error: Error) => logger.error({ err: error }, 'failed to follow settings.yaml');
    watch = await watchSettings(home, { env, onChange: reload, onError });
  } catch (error) {
    notices.log();
    await stop();
    throw error;
  }
  return {
    url: members[0]?.service.url ?? '',
    members: members.map(({ name, service }) => ({
      name,
      url: service.url,
      routes: () => service.running?.routes() ?? [],
    })),
    options,
    operator,
    bus: read.switchboard.natsUrl
      ? `NATS at ${read.switchboard.natsUrl.map(withoutCredentials).join(', ')}`
      : 'embedded',
    notices,
    missing: () => members.flatMap(({ service }) => service.running?.missing() ?? []),
    problem: async () => {
      const problems = await Promise.all(
        members.map(async ({ service }) => await service.running?.problem?.()),
      );
      return unique(problems.flatMap((problem) => problem ?? [])).join('\n  ') || undefined;
    },
    stop,
  };
}

/** The model of a GGUF file that all four share. */
class FleetModelFile {
  readonly #settings: FleetSettings;
  #file: OpenModelFile | undefined;
  /** What it was opened with. */
  #opened: ServiceOptions['agent'] | undefined;
  #path: string | undefined;

  constructor(settings: FleetSettings) {
    this.#settings = settings;
  }

  /** The options with the model of the file, which is opened anew where another one, or another use of it, is set. */
  async open(given: ServiceOptions): Promise<ServiceOptions> {
    const { env } = this.#settings;
    const path = findModelFile(given.agent, env);
    const before = this.#opened;
    const isSame = before !== undefined && path === this.#path && sameModelFile(before, given.agent);
    if (!isSame) {
      await this.stop();
      try {
        this.#file = await openModelFile(given.agent, this.#settings);
      } catch (error) {
        if (before !== undefined) this.#file = await openModelFile(before, this.#settings);
        throw error;
      }
      [this.#opened, this.#path] = [given.agent, path];
    }
    return withModel(given, this.#file?.settings);
  }

  async stop(): Promise<void> {
    await this.#file?.stop();
    this.#file = undefined;
  }
}

function sameModelFile(before: ModelFileOptions, after: ModelFileOptions): boolean {
  const facts = ({
    llmGgufContext,
    llmGgufSequences,
    llmGgufThreads,
    llmGgufIdleMinutes,
    llmGgufPort,
  }: ModelFileOptions) => [llmGgufContext, llmGgufSequences, llmGgufThreads, llmGgufIdleMinutes, llmGgufPort];
  return isDeepStrictEqual(facts(before), facts(after));
}

/** Where the members are: their public addresses where some are given, else where they listen. */
function linksTo(
  members: readonly RunningMember[],
  addresses: Readonly<Record<string, string | undefined>> = {},
): ServiceLink[] {
  return members.map(({ name, service }) => ({ name, url: addresses[name] ?? service.url, state: 'live' }));
}

/** The same, with those that run without a usable model, and those that restart. */
async function linksWithStates(
  members: readonly RunningMember[],
  addresses: Readonly<Record<string, string | undefined>>,
): Promise<ServiceLink[]> {
  const states = await Promise.all(
    members.map(async ({ service: { running } }) => {
      if (running === undefined) return 'stopped';
      return (await running.problem?.()) === undefined ? 'live' : 'degraded';
    }),
  );
  return linksTo(members, addresses).map((link, at) => ({ ...link, state: states[at] ?? 'live' }));
}

/** As people reach the services, behind a proxy for instance. */
function publicAddresses(read: ServiceOptions): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(read).map(([name, { publicUrl }]) => [name, publicUrl]));
}

type ServiceName = keyof ServiceOptions;

/** A service stops before those that stand above it. */
const starters: Record<ServiceName, (options: never, context: ServiceContext) => Promise<Service>> = {
  switchboard: switchboard.start,
  agent: agent.start,
  research: research.start,
  voice: voice.start,
};

const names = Object.keys(starters) as ServiceName[];

/** Waits for all, also when one fails, so that those that did start can be stopped; then throws the first failure. */
async function allStarted(starts: readonly Promise<void>[]): Promise<void> {
  const outcomes = await Promise.allSettled(starts);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}

// In reverse order, so that no service loses one it depends on. One that fails to stop does not keep the others running.
async function stopAll(members: RunningMember[]): Promise<void> {
  const failures: unknown[] = [];
  for (const { service } of members.splice(0).reverse()) {
    await service.stop().catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw new AggregateError(failures, 'Some services did not stop cleanly.');
}

function withoutCredentials(server: string): string {
  return server.replace(/\/\/[^@/]*@/, '//');
}

/** What the terminal shows once everything runs: addresses, the model, and what is missing for full function. */
export function introduce(
  { members, options, bus, missing, notices }: Fleet,
  link: string | undefined,
  problem?: string,
): string {
  const rows = members.map(({ name, url }): [string, string] => [
    name,
    `${url.padEnd(24)} ${purposes[name] ?? ''}`,
  ]);
  const facts: [string, string][] = [['bus', bus], ['data', options.trunklineHome], ...notices.take()];
  const wants = unique(missing().map(({ what, variable, hint }) => `${what} (${variable}): ${hint}`));
  return [
    '',
    `Trunkline ${version}`,
    '',
    ...columns(rows.sort()),
    '',
    ...columns(facts),
    '',
    ...signIn(link),
    ...(problem === undefined ? [] : ['', `  ${problem}`]),
    ...(wants.length > 0 ? ['', '  For full function:', ...wants.map((want) => `  - ${want}`)] : []),
    '',
    '  Ctrl-C stops everything. "npx trunkline doctor" checks the setup.',
    '',
  ].join('\n');
}

/** How the person at this terminal becomes the operator in their browser. */
function signIn(link: string | undefined): string[] {
  if (link === undefined)
    return [
      '  TRUNKLINE_OPEN=1: everybody who reaches these services may configure them and approve commands.',
    ];
  return [
    `  Open as operator: ${link}`,
    '  The link works once, within an hour, and signs the browser in to all four; "npx trunkline login" prints new ones.',
  ];
}

function columns(rows: [string, string][]): string[] {
  return rows.map(([name, text]) => `  ${name.padEnd(12)} ${text.trimEnd()}`);
}

function unique(texts: string[]): string[] {
  return [...new Set(texts)];
}
