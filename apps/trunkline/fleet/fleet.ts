import { openAccounts } from '@trunkline/accounts';
import * as agent from '@trunkline/agent';
import type { Environment, Logger } from '@trunkline/config';
import { openModelFile } from '@trunkline/gguf';
import { type OperatorAccess, readOrCreateSecret } from '@trunkline/identity';
import * as research from '@trunkline/research';
import {
  operatorOf,
  type Peers,
  type Service,
  type ServiceContext,
  type ServiceLink,
} from '@trunkline/service';
import * as switchboard from '@trunkline/switchboard';
import * as voice from '@trunkline/voice';
import { version } from '../version.ts';
import {
  readServiceOptions,
  type ServiceOptions,
  secretsOf,
  type UpOptions,
  withModel,
} from './service-options.ts';

const purposes: Record<string, string> = {
  voice: 'talk to an agent in the browser',
  agent: 'give tasks to an agent, in chat or over A2A',
  research: 'ask with sources, or order a report',
  switchboard: 'wire surfaces, agents and schedules together',
};

interface Member extends Service {
  name: string;
}

/** The four services of one process. */
export interface Fleet extends Omit<Service, 'routes'> {
  members: readonly Member[];
  options: UpOptions;
  operator: OperatorAccess;
  /** Which bus is used, for people. */
  bus: string;
}

export interface FleetSettings {
  options: UpOptions;
  env: Environment;
  logger: Logger;
  /** Keeps a secret out of the log. */
  hide: (secret: string) => void;
}

/** Starts the services one after the other; when one cannot start, those before it are stopped again. */
export async function startFleet({ options, env, logger, hide }: FleetSettings): Promise<Fleet> {
  const members: Member[] = [];
  const stop = async () => {
    try {
      await stopAll(members);
    } finally {
      await modelFile?.stop();
    }
  };
  const given = readServiceOptions(options, env);
  const modelFile = await openModelFile(given.agent, { logger, hide, env });
  const read = withModel(given, modelFile?.settings);
  const serviceToken = readOrCreateSecret(options.trunklineHome, 'family-secret');
  const accounts = openAccounts({ home: options.trunklineHome, logger });
  const operator = operatorOf(options, { logger, accounts });
  for (const each of [serviceToken, ...secretsOf(read)]) hide(each);
  const listeners: (() => void)[] = [];
  const peers: Peers = {
    serviceToken,
    agentName: read.agent.agentName,
    find: (name) => linksTo(members).find((service) => service.name === name),
    namesWithKey: () => members.filter((each) => each.requiresKey?.() === true).map(({ name }) => name),
    onChange: (listener) => void listeners.push(listener),
  };
  try {
    for (const { name, start } of starters(read)) {
      const context = {
        logger: logger.child({ service: name }),
        hide,
        services: () => linksWithStates(members, publicAddresses(read)),
        peers,
        operator,
        accounts,
        env,
        portVariable: `${name.toUpperCase()}_PORT`,
      };
      members.push({ name, ...(await start(context)) });
      for (const listener of listeners) listener();
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url: members[0]?.url ?? '',
    members,
    options,
    operator,
    bus: read.switchboard.natsUrl
      ? `NATS at ${read.switchboard.natsUrl.map(withoutCredentials).join(', ')}`
      : 'embedded',
    missing: () => members.flatMap((member) => member.missing()),
    problem: async () => {
      const problems = await Promise.all(members.map((member) => member.problem?.()));
      return unique(problems.flatMap((problem) => problem ?? [])).join('\n  ') || undefined;
    },
    stop,
  };
}

/** Where the members are: their public addresses where some are given, else where they listen. */
function linksTo(
  members: readonly Member[],
  addresses: Readonly<Record<string, string | undefined>> = {},
): ServiceLink[] {
  return members.map(({ name, url }) => ({ name, url: addresses[name] ?? url, state: 'live' }));
}

/** The same, with those that run without a usable model. */
async function linksWithStates(
  members: readonly Member[],
  addresses: Readonly<Record<string, string | undefined>>,
): Promise<ServiceLink[]> {
  const problems = await Promise.all(members.map((member) => member.problem?.()));
  return linksTo(members, addresses).map((link, at) =>
    problems[at] === undefined ? link : { ...link, state: 'degraded' },
  );
}

/** As people reach the services, behind a proxy for instance. */
function publicAddresses(read: ServiceOptions): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(read).map(([name, { publicUrl }]) => [name, publicUrl]));
}

interface Starter {
  name: string;
  start(context: ServiceContext): Promise<Service>;
}

function starters(read: ServiceOptions): Starter[] {
  return [
    { name: 'switchboard', start: (context) => switchboard.start(read.switchboard, context) },
    { name: 'agent', start: (context) => agent.start(read.agent, context) },
    { name: 'research', start: (context) => research.start(read.research, context) },
    { name: 'voice', start: (context) => voice.start(read.voice, context) },
  ];
}

// In reverse order, so that no service loses one it depends on. One that fails to stop does not keep the others running.
async function stopAll(members: Member[]): Promise<void> {
  const failures: unknown[] = [];
  for (const member of members.splice(0).reverse()) {
    await member.stop().catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw new AggregateError(failures, 'Some services did not stop cleanly.');
}

function withoutCredentials(server: string): string {
  return server.replace(/\/\/[^@/]*@/, '//');
}

/** What the terminal shows once everything runs: addresses, the model, and what is missing for full function. */
export function introduce(
  { members, options, bus, missing }: Fleet,
  link: string | undefined,
  problem?: string,
): string {
  const rows = members.map(({ name, url }): [string, string] => [
    name,
    `${url.padEnd(24)} ${purposes[name] ?? ''}`,
  ]);
  const facts: [string, string][] = [
    ['bus', bus],
    ['data', options.trunklineHome],
  ];
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
    '  Ctrl-C stops everything. "trunkline doctor" checks the set-up.',
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
