import * as agent from '@trunkline/agent';
import type { Environment, Logger } from '@trunkline/config';
import {
  type OperatorAccess,
  openOperatorAccess,
  operatorAccess,
  readOrCreateSecret,
} from '@trunkline/identity';
import * as research from '@trunkline/research';
import type { Peers, Service, ServiceContext, ServiceLink } from '@trunkline/service';
import * as switchboard from '@trunkline/switchboard';
import * as voice from '@trunkline/voice';
import { readServiceOptions, type ServiceOptions, secretsOf, type UpOptions } from './service-options.ts';

interface Member extends Service {
  name: string;
}

/** The four services of one process. */
export interface Fleet extends Omit<Service, 'routes'> {
  members: readonly Member[];
  options: UpOptions;
  operator: OperatorAccess;
  /** Where the bus lives, in words. */
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
  const stop = () => stopAll(members);
  const read = readServiceOptions(options, env);
  const serviceToken = readOrCreateSecret(options.trunklineHome, 'family-secret');
  const operator = options.trunklineOpen ? openOperatorAccess : operatorAccess(options.trunklineHome);
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
        services: () => linksTo(members, publicAddresses(read)),
        peers,
        operator,
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

/** As people reach the services, behind a proxy for instance. */
function publicAddresses(read: ServiceOptions): Record<string, string | undefined> {
  return {
    voice: read.voice.publicUrl,
    agent: read.agent.publicUrl,
    research: read.research.publicUrl,
    switchboard: read.switchboard.publicUrl,
  };
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

// In reverse, so that no service loses one it leans on; one that fails to stop does not keep the others running.
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
