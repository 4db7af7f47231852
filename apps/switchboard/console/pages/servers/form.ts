// The form by which an MCP server is added, and what it means in its file.
import type { JsonSchema } from '@trunkline/ui';

type Values = Readonly<Record<string, unknown>>;

export const SERVER_FORM: JsonSchema = {
  type: 'object',
  required: ['name', 'trust'],
  properties: {
    name: { type: 'string', title: 'Name', pattern: '^[A-Za-z0-9][A-Za-z0-9_-]*$' },
    trust: {
      title: 'Trust',
      default: 'trusted',
      oneOf: [
        { const: 'trusted', title: 'Trusted: on at once' },
        { const: 'community', title: 'Community: off until you switch it on' },
        { const: 'builtin', title: 'Built in: its tools are for all agents' },
      ],
    },
    url: { type: 'string', title: 'Address', format: 'uri', description: 'Of a server that runs elsewhere.' },
    transport: {
      title: 'How it is spoken to at its address',
      default: 'http',
      oneOf: [
        { const: 'http', title: 'Streamable HTTP' },
        { const: 'sse', title: 'Server-sent events (older servers)' },
      ],
    },
    key: {
      type: 'string',
      format: 'password',
      title: 'Key',
      description: `Sent to the address as a bearer token; \${NAME} takes it from a variable.`,
    },
    command: { type: 'string', title: 'Or command', description: 'Of a server that runs as a process here.' },
    args: { type: 'array', title: 'Arguments', items: { type: 'string' } },
    grants: {
      type: 'array',
      title: 'Agents that have its tools',
      items: { type: 'string' },
      description: 'One on each line; * for all.',
    },
  },
};

/** A server as its file has it. */
export function serverOf({ name, trust, grants, url, ...way }: Values): Record<string, unknown> {
  const granted = linesOf(grants);
  return {
    name,
    trust,
    ...(typeof url === 'string' ? remote(url, way) : local(way)),
    ...(granted.length > 0 && { grants: granted }),
  };
}

function remote(url: string, { transport, key }: Values) {
  return { transport, url, ...(typeof key === 'string' && { headers: { authorization: `Bearer ${key}` } }) };
}

function local({ command, args }: Values) {
  const listed = linesOf(args);
  return { transport: 'stdio', command, ...(listed.length > 0 && { args: listed }) };
}

function linesOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String).filter((line) => line !== '') : [];
}
