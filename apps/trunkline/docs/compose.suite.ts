import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseYaml } from '@trunkline/config';
import { z } from 'zod';
import { root } from './blocks.suite.ts';

const text = z.union([z.string(), z.number()]).transform(String);
const serviceSchema = z.looseObject({
  image: z.string().optional(),
  command: z.array(text).default([]),
  environment: z.record(z.string(), text).default({}),
  volumes: z.array(z.string()).default([]),
});
const composeSchema = z.looseObject({ services: z.record(z.string(), serviceSchema) });

export type ComposeService = z.output<typeof serviceSchema>;

/** Secrets that a user makes for one machine before the first `docker compose up`. */
export const secrets = ['TRUNKLINE_TOKEN', 'VOICE_KEY', 'NATS_PASSWORD', 'SEARXNG_SECRET'] as const;

/** The services of compose.yaml, its variables not yet filled in. */
export function readCompose(): Record<string, ComposeService> {
  const file = join(root, 'compose.yaml');
  return parseYaml(readFileSync(file, 'utf8'), composeSchema, { file, expand: false }).services;
}

/** Fills in variables as Compose does; throws for a `${NAME:?words}` whose variable is unset or blank. */
export function interpolate(value: string, env: Readonly<Record<string, string>>): string {
  return value.replace(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_all, name: string, kind?: string, more = '') => {
    const found = env[name] || undefined;
    if (found === undefined && kind === '?') throw new Error(`required variable ${name} is missing: ${more}`);
    return found ?? (kind === '-' ? more : '');
  });
}

export interface Image {
  environment: Record<string, string>;
  entryPoint: string[];
}

/** What the Dockerfile gives every container. */
export function readImage(): Image {
  const lines = readFileSync(join(root, 'Dockerfile'), 'utf8').split('\n');
  const argumentsOf = (name: string) =>
    lines.flatMap((line) => (line.startsWith(`${name} `) ? [line.slice(name.length + 1)] : []));
  const pairs = argumentsOf('ENV').flatMap((line) => line.split(' ').map((pair) => pair.split('=', 2)));
  return {
    environment: Object.fromEntries(pairs),
    entryPoint: z.array(z.string()).parse(JSON.parse(argumentsOf('ENTRYPOINT').at(-1) ?? '[]')),
  };
}
