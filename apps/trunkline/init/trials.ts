import type { SearchGiven } from '@trunkline/research';
import type { ConnectorCheck, ConnectorsView, SearchTrial, SpeechSetup } from '@trunkline/std';
import { z } from 'zod';
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
