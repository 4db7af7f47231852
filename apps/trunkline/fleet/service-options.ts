import { agentOptions } from '@trunkline/agent';
import {
  ConfigError,
  describeSettings,
  type Environment,
  type OptionsOf,
  type OptionTable,
  readOptions,
  secretValues,
} from '@trunkline/config';
import { type OpenModelFile, withModelFile } from '@trunkline/gguf';
import { researchOptions } from '@trunkline/research';
import { switchboardOptions } from '@trunkline/switchboard';
import { voiceOptions } from '@trunkline/voice';
import type { upOptions } from '../options.ts';
import { portOptions } from '../ports.ts';

export type UpOptions = OptionsOf<typeof upOptions>;
export type ServiceOptions = ReturnType<typeof readServiceOptions>;

export const serviceTables = {
  voice: voiceOptions,
  agent: agentOptions,
  research: researchOptions,
  switchboard: switchboardOptions,
};

/** Reads the settings of all four services, each with the port it has when they run together; fails once for all. */
export function readServiceOptions(options: UpOptions, env: Environment) {
  // PORT belongs to a service that runs alone: together, two would take it.
  const shared = { ...env, PORT: undefined };
  const problems = new Set([
    ...Object.values(serviceTables).flatMap((table) => problemsOf(table, shared)),
    ...samePorts(options),
  ]);
  if (problems.size > 0) throw new ConfigError('The settings cannot be used:', [...problems]);
  return {
    voice: {
      ...readOptions(voiceOptions, { env: { ...shared, ...voiceDefaults(shared) } }),
      port: options.voicePort,
    },
    agent: { ...readOptions(agentOptions, { env: shared }), port: options.agentPort },
    research: { ...readOptions(researchOptions, { env: shared }), port: options.researchPort },
    switchboard: { ...readOptions(switchboardOptions, { env: shared }), port: options.switchboardPort },
  };
}

/** Two services on one port: the system would name only the second. Port 0 is any free one. */
function samePorts(options: UpOptions): string[] {
  const ports = Object.entries(portOptions).map(([key, { env }]) => ({
    name: env.join(),
    port: options[key as keyof typeof portOptions],
  }));
  const taken = Map.groupBy(ports, ({ port }) => port);
  return [...taken].flatMap(([port, users]) =>
    port === 0 || users.length < 2
      ? []
      : [`${users.map(({ name }) => name).join(' and ')} are ${port}; give each its own port`],
  );
}

/** The options with the model of a GGUF file, which all share that name no endpoint of their own. */
export function withModel(
  read: ServiceOptions,
  model: OpenModelFile['settings'] | undefined,
): ServiceOptions {
  return {
    voice: withModelFile(read.voice, model),
    agent: withModelFile(read.agent, model),
    research: withModelFile(read.research, model),
    switchboard: withModelFile(read.switchboard, model),
  };
}

/**
 * Without a speech backend or a sidecar, voice speaks with the voices of this machine, which chooses one that is fast
 * enough. Where the local recogniser listens, the end-of-turn model decides: it hears English voices.
 */
export function voiceDefaults(env: Environment): Record<string, string> {
  const settings = describeSettings(voiceOptions, { env });
  const isSet = (...names: string[]) =>
    settings.some(({ variable, source }) => names.includes(variable) && source !== 'default');
  const isOpen = !isSet('TTS_BACKEND', 'SIDECAR_URL');
  const settingOf = (name: string) => settings.find(({ variable }) => variable === name)?.value;
  // Where another backend speaks, these voices only step in for it, and nobody measures them.
  const isLocal = isOpen || settingOf('TTS_BACKEND') === 'inprocess';
  return {
    ...(isOpen && { TTS_BACKEND: 'inprocess' }),
    ...(isLocal && !isSet('INPROC_VOICE') && { INPROC_VOICE: 'auto' }),
    ...(settingOf('STT_BACKEND') === 'local' && !isSet('SMART_TURN') && { SMART_TURN: 'local' }),
  };
}

/** Secrets of all services, which the log of the shared process must not show. */
export function secretsOf(read: ServiceOptions): string[] {
  return [
    ...secretValues(voiceOptions, read.voice),
    ...secretValues(agentOptions, read.agent),
    ...secretValues(researchOptions, read.research),
    ...secretValues(switchboardOptions, read.switchboard),
  ];
}

function problemsOf(table: OptionTable, env: Environment): readonly string[] {
  try {
    readOptions(table, { env });
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}
