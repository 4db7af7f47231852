import { AuditLog } from '@trunkline/audit';
import { type Environment, type Logger, readOptions, secretStoreOf } from '@trunkline/config';
import { type SearchGiven, trySearch } from '@trunkline/research';
import { saveSettings } from '@trunkline/service';
import {
  type ConnectorCheck,
  type ConnectorsView,
  errorMessage,
  type SearchTrial,
  type SpeechSetup,
} from '@trunkline/std';
import { checkConnector, connectorsView } from '@trunkline/switchboard';
import { directSpeech } from '@trunkline/voice';
import { z } from 'zod';
import { CommandError } from '../commands/command.ts';
import { readServiceOptions, serviceTables } from '../fleet/service-options.ts';
import { upOptions } from '../options.ts';
import type { RunningServices, ServiceName } from './services.ts';

/** What the steps after the model ask and set: of a service that runs, or without it. Fails with a CommandError. */
export interface Trials {
  speech(): Promise<Omit<SpeechSetup, 'backend'>>;
  /** A WAV file. */
  say(sample: { text: string; voice: string; lang: string }): Promise<Uint8Array>;
  search(
    trial: { query: string } & SearchGiven,
  ): Promise<Pick<SearchTrial, 'troubles'> & { results: { title: string; url: string }[] }>;
  connectors(): Promise<{ connectors: Connector[] }>;
  /** Asks the product who we are there, with values that are not saved yet. */
  checkConnector(name: string, values: Readonly<Record<string, string>>): Promise<ConnectorCheck>;
  /** Sets variables in settings.yaml. */
  change(values: Readonly<Record<string, string>>): Promise<void>;
}

export type Connector = Omit<ConnectorsView['connectors'][number], 'state' | 'fields'> & {
  state: string;
  fields: Omit<ConnectorsView['connectors'][number]['fields'][number], 'value'>[];
};

const speechSchema = z.object({
  languages: z.array(z.object({ id: z.string(), title: z.string() })),
  voices: z.array(z.object({ id: z.string(), title: z.string(), language: z.string() })),
  voice: z.string(),
  language: z.string(),
});

const searchSchema = z.object({
  results: z.array(z.object({ title: z.string(), url: z.string() })),
  troubles: z.array(z.string()),
});

const connectorsSchema = z.object({
  connectors: z.array(
    z.object({
      name: z.string(),
      title: z.string(),
      guide: z.string(),
      state: z.string(),
      words: z.string().nullable(),
      testTopic: z.string().nullable(),
      testPlace: z.object({ label: z.string(), example: z.string() }).nullable(),
      fields: z.array(
        z.object({
          variable: z.string(),
          doc: z.string(),
          secret: z.boolean(),
          isOptional: z.boolean(),
          isSet: z.boolean(),
        }),
      ),
    }),
  ),
});

const checkSchema = z.object({ ok: z.boolean(), words: z.string() });

/** By the services that run, which take what is set at once. */
export function runningTrials(services: RunningServices, service: ServiceName): Trials {
  const post = (body: object) => ({ method: 'POST', body });
  return {
    speech: () => services.call(service, '/operator/setup/speech', speechSchema),
    say: async (sample) => {
      const sound = await services.send(service, '/operator/setup/speech/say', post(sample));
      return new Uint8Array(await sound.arrayBuffer());
    },
    search: (trial) => services.call(service, '/operator/setup/search', searchSchema, post(trial)),
    connectors: () => services.call(service, '/operator/setup/connectors', connectorsSchema),
    checkConnector: (name, values) =>
      services.call(service, `/operator/setup/connectors/${name}/check`, checkSchema, post({ values })),
    change: async (values) =>
      void (await services.send(service, '/operator/settings', { method: 'PATCH', body: values })),
  };
}

const searchMs = 20_000;

interface DirectDeps {
  /** TRUNKLINE_HOME. */
  home: string;
  env: Environment;
  logger: Logger;
}

/** Without a service that runs: as its own routes do it, and written into settings.yaml for its next start. */
export function directTrials({ home, env: given, logger }: DirectDeps): Trials {
  const env = { ...given, TRUNKLINE_HOME: home };
  const options = () => readServiceOptions(readOptions(upOptions, { env }), env);
  const { signal } = new AbortController();
  const tables = Object.values(serviceTables);
  return {
    speech: () => explained(() => directSpeech(options().voice, logger).view()),
    say: (sample) => explained(() => directSpeech(options().voice, logger).say(sample, signal)),
    search: ({ query, ...given }) =>
      explained(async () => {
        const found = await trySearch(query, given, options().research, AbortSignal.timeout(searchMs));
        return found ?? { results: [], troubles: [] };
      }),
    connectors: () => explained(() => connectorsView(options().switchboard)),
    checkConnector: (name, values) =>
      explained(() => checkConnector(name, { options: options().switchboard, values }, signal)),
    change: (values) =>
      explained(async () => {
        const settings = { table: upOptions, tables, env };
        await saveSettings({ home, secrets: secretStoreOf(env), settings }, values);
        recordChange(home, 'settings.change', Object.keys(values).join(', '));
      }),
  };
}

/** For the audit log: what the person at this terminal set. */
export function recordChange(home: string, action: string, subject: string): void {
  const log = new AuditLog({ home, logger: console });
  log.record({
    service: 'trunkline',
    action,
    subject,
    principal: { kind: 'operator', id: 'command line', via: [] },
    result: 'done',
  });
  log.close();
}

async function explained<Result>(work: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw new CommandError(errorMessage(error), { cause: error });
  }
}
