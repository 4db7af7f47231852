import {
  Button,
  Dialog,
  type JsonSchema,
  plural,
  SchemaForm,
  useApi,
  useAttempt,
  useToast,
} from '@trunkline/ui';
import { useRef, useState } from 'react';
import type { Answer } from '../../../api-types.ts';

const TRIAL_MS = 60_000;

interface AddServerProps {
  onClose(): void;
  /** Resolves to whether it was accepted. */
  onAdd(server: object): Promise<boolean>;
}

export function AddServer({ onClose, onAdd }: AddServerProps) {
  const tryOut = useTrial();
  const testing = useRef(false);
  const [busy, setBusy] = useState(false);
  const submit = async (values: Readonly<Record<string, unknown>>) => {
    setBusy(true);
    const server = serverOf(values);
    if (testing.current) await tryOut('/api/mcp-servers/test', String(values.name), server);
    else if (await onAdd(server)) return onClose();
    setBusy(false);
  };
  const wants = (test: boolean) => () => {
    testing.current = test;
  };
  return (
    <Dialog open wide onClose={onClose} title="Add an MCP server">
      <SchemaForm
        schema={SERVER_FORM}
        disabled={busy}
        onSubmit={(values) => void submit(values)}
        actions={
          <>
            <Button type="submit" busy={busy} onClick={wants(true)}>
              Test
            </Button>
            <Button type="submit" variant="primary" busy={busy} onClick={wants(false)}>
              Add it
            </Button>
          </>
        }
      />
    </Dialog>
  );
}

type Values = Readonly<Record<string, unknown>>;

const SERVER_FORM: JsonSchema = {
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
      title: 'Transport',
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

function serverOf({ name, trust, grants, url, ...way }: Values): Record<string, unknown> {
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

/** Connects briefly and shows the result. */
export function useTrial() {
  const api = useApi();
  const attempt = useAttempt();
  const toast = useToast();
  return async (path: string, name: string, body: object): Promise<void> => {
    await attempt(async () => {
      const { data } = await api.request<Answer<{ tools: { name: string }[] }>>(path, {
        body,
        timeLimitMs: TRIAL_MS,
      });
      const names = data.tools.map((tool) => tool.name).join(', ');
      toast({
        title: `${name} answers with ${plural(data.tools.length, 'tool')}.`,
        detail: names.slice(0, 200),
        state: 'live',
      });
    });
  };
}
