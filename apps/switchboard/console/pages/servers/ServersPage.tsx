import {
  Badge,
  Button,
  Dialog,
  IconButton,
  type JsonSchema,
  Lamp,
  plural,
  SchemaForm,
  SwitchField,
  stateLamp,
  useApi,
  useAttempt,
  useToast,
} from '@trunkline/ui';
import { Plug, Plus, RadioTower, Trash2 } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import type { AgentView, Answer, McpServerView } from '../../../api-types.ts';
import { List, useRemove } from '../../shared/blocks.tsx';
import { Frame } from '../../shared/sections.tsx';
import { useList, useSend } from '../../shared/useList.ts';

const MOST_SHOWN = 12;

export default function ServersPage() {
  const send = useSend();
  const [adding, setAdding] = useState(false);
  const list = useList<McpServerView>('/api/mcp-servers', ['config.updated', 'system.error']);
  const agents = useList<AgentView>('/api/agents', ['config.updated']);
  const toolsOf = (name: string) =>
    (agents.items?.find((agent) => agent.type === 'mcp' && agent.name === name)?.skills ?? []).map((skill) =>
      skill.name.slice(name.length + 1),
    );
  const reload = () => {
    list.reload();
    agents.reload();
  };
  useAgainWhile(
    list.items?.some(({ name, enabled }) => enabled && toolsOf(name).length === 0) ?? false,
    reload,
  );
  const add = async (body: object) => {
    const added = await send('/api/mcp-servers', { title: 'Added. It is connected.', body });
    if (added) reload();
    return added;
  };
  return (
    <Frame
      title="MCP servers"
      intro="Each tool is a skill called after its server. Agents have the tools that are granted to them."
      actions={
        <Button variant="primary" icon={<Plus aria-hidden />} onClick={() => setAdding(true)}>
          Add a server
        </Button>
      }
    >
      <List
        title="MCP servers"
        hideTitle
        what="the MCP servers"
        list={list}
        icon={Plug}
        empty={['No MCP servers yet', 'Add one by its command or address, and test it before you save.']}
      >
        {(server) => <ServerRow server={server} tools={toolsOf(server.name)} onChanged={reload} />}
      </List>
      {adding && <AddServer onClose={() => setAdding(false)} onAdd={add} />}
    </Frame>
  );
}

const SOON_MS = 1500;

// No message announces a connection: the list is polled until all are connected.
function useAgainWhile(connecting: boolean, reload: () => void): void {
  const latest = useRef(reload);
  useEffect(() => {
    latest.current = reload;
  });
  useEffect(() => {
    if (!connecting) return;
    const timer = setInterval(() => latest.current(), SOON_MS);
    return () => clearInterval(timer);
  }, [connecting]);
}

interface ServerRowProps {
  server: McpServerView;
  tools: readonly string[];
  onChanged(): void;
}

function ServerRow({ server, tools, onChanged }: ServerRowProps) {
  const { name, trust, url, command, args = [], enabled, error, stderr } = server;
  const send = useSend();
  const tryOut = useTrial();
  const [testing, setTesting] = useState(false);
  const path = `/api/mcp-servers/${encodeURIComponent(name)}`;
  const enable = async (on: boolean) => {
    const title = on ? `${name} is switched on.` : `${name} is switched off.`;
    if (await send(`${path}/enabled`, { title, body: { enabled: on } })) onChanged();
  };
  const test = async () => {
    setTesting(true);
    await tryOut(`${path}/test`, name, {});
    setTesting(false);
  };
  const remove = useRemove(path, 'mcp', name);
  return (
    <li className="flex flex-wrap items-center gap-3 border-line border-b px-4 py-3 last:border-b-0">
      <div className="min-w-0 flex-1 basis-64">
        <p className="flex flex-wrap items-center gap-x-3 font-medium">
          {name} <State enabled={enabled} connected={tools.length > 0} /> <Badge>{trust}</Badge>
        </p>
        <p className="truncate font-mono text-12 text-muted">{url ?? [command, ...args].join(' ')}</p>
        {enabled && error && (
          <p className="text-12 break-words text-waiting-text first-letter:uppercase">{error}</p>
        )}
        {enabled && stderr && (
          <pre className="whitespace-pre-wrap break-words font-mono text-12 text-muted">{stderr}</pre>
        )}
        <p className="mt-1 flex flex-wrap gap-1">
          {tools.slice(0, MOST_SHOWN).map((tool) => (
            <Badge key={tool}>{tool}</Badge>
          ))}
          {tools.length > MOST_SHOWN && <Badge>and {tools.length - MOST_SHOWN} more</Badge>}
        </p>
      </div>
      <SwitchField label={`Use ${name}`} checked={enabled} onChange={(on) => void enable(on)} />
      <div className="flex">
        <IconButton
          small
          label={`Test ${name}`}
          icon={<RadioTower aria-hidden />}
          disabled={testing}
          onClick={() => void test()}
        />
        <IconButton
          small
          label={`Remove ${name}`}
          icon={<Trash2 aria-hidden />}
          onClick={() => void remove()}
        />
      </div>
    </li>
  );
}

function State({ enabled, connected }: { enabled: boolean; connected: boolean }) {
  if (!enabled) return <Lamp {...stateLamp('off')} />;
  return <Lamp {...(connected ? stateLamp('connected') : stateLamp('connecting', 'Not connected'))} />;
}

const TRIAL_MS = 60_000;

interface AddServerProps {
  onClose(): void;
  /** Resolves to whether it was accepted. */
  onAdd(server: object): Promise<boolean>;
}

function AddServer({ onClose, onAdd }: AddServerProps) {
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
function useTrial() {
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
