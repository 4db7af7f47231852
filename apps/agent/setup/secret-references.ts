import { ConfigError, parseYaml } from '@trunkline/config';
import { z } from 'zod';
import { type AgentOptions, agentOptions } from '../options.ts';
import { apiKeyVariable } from './access.ts';

/** The variables in which this service keeps its own secrets. */
export function secretVariables({ agentName }: Pick<AgentOptions, 'agentName'>): string[] {
  const secrets = Object.values(agentOptions.options).filter(({ secret }) => secret);
  return [...secrets.flatMap(({ env }) => env), apiKeyVariable(agentName)];
}

/**
 * The variable of those named that a new text of the configuration puts where it did not stand before. An entry may
 * keep such a variable only as it was: its address might have changed.
 */
export function newlyNamed(names: readonly string[], before: string, after: string): string | undefined {
  return names.find((name) => {
    const known = new Set(entriesNaming(name, before));
    return entriesNaming(name, after).some((entry) => !known.has(entry));
  });
}

function entriesNaming(name: string, text: string): string[] {
  const reference = new RegExp(String.raw`\$\{${name}\b`);
  return entriesOf(unexpanded(text))
    .map((entry) => JSON.stringify(entry))
    .filter((entry) => reference.test(entry));
}

/** A file that somebody broke names nothing. */
function unexpanded(text: string): unknown {
  try {
    return parseYaml(text, z.unknown(), { file: '', expand: false });
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}

/** Items of lists, which hold an address and its secret together, and single values. */
function entriesOf(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [value];
  if (Array.isArray(value)) return value;
  return Object.entries(value).flatMap(([key, part]) => entriesOf(part).map((entry) => ({ [key]: entry })));
}
