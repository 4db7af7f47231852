// The forms by which connections are added, and what they mean in the configuration.
import type { JsonSchema } from '@trunkline/ui';
import type { McpServer } from '../../shared/useConfig.ts';

type Values = Readonly<Record<string, unknown>>;

const NAME = {
  type: 'string',
  title: 'Name',
  pattern: '^[A-Za-z0-9_-]+$',
  description: 'Letters, digits, _ and -.',
};

export const MCP_FORM: JsonSchema = {
  type: 'object',
  required: ['name'],
  properties: {
    name: NAME,
    url: { type: 'string', title: 'Address', format: 'uri', description: 'Of a server that runs elsewhere.' },
    command: { type: 'string', title: 'Or command', description: 'Of a server that runs as a process here.' },
    args: { type: 'array', title: 'Arguments', items: { type: 'string' } },
    token: {
      type: 'string',
      title: 'Token',
      format: 'password',
      description: 'Sent as a bearer to the address.',
    },
  },
};

/** A server as the configuration has it. */
export function mcpServerOf({ name, url, command, args, token }: Values): Partial<McpServer> {
  const listed = Array.isArray(args) ? args.map(String).filter((arg) => arg !== '') : [];
  return {
    name: String(name),
    ...(typeof url === 'string' && { url }),
    ...(typeof command === 'string' && { command }),
    ...(listed.length > 0 && { args: listed }),
    ...(typeof token === 'string' && { headers: { authorization: `Bearer ${token}` } }),
  };
}

export const DELEGATE_FORM: JsonSchema = {
  type: 'object',
  required: ['name', 'type'],
  properties: {
    name: NAME,
    type: {
      title: 'Kind',
      default: 'a2a',
      oneOf: [
        { const: 'a2a', title: 'An agent that speaks A2A' },
        { const: 'compat', title: 'A model with an OpenAI-compatible API' },
        { const: 'acp', title: 'A coding agent that runs as a process (ACP)' },
      ],
    },
    description: { type: 'string', title: 'What it is good at' },
    url: { type: 'string', title: 'Address', format: 'uri', description: 'For A2A and models.' },
    model: { type: 'string', title: 'Model', description: 'For models.' },
    command: { type: 'string', title: 'Command', description: 'For coding agents.' },
    args: { type: 'array', title: 'Arguments', items: { type: 'string' }, description: 'For coding agents.' },
    token: { type: 'string', title: 'Token', format: 'password' },
  },
};

/** A delegate as the configuration has it. */
export function delegateOf(values: Values): Record<string, unknown> {
  const { args, ...rest } = values;
  const listed = Array.isArray(args) ? args.filter((arg) => arg !== '') : [];
  return { ...rest, ...(listed.length > 0 && { args: listed }) };
}
