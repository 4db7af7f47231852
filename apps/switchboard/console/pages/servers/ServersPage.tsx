import { Badge, Button, IconButton, Lamp, SwitchField, stateLamp } from '@trunkline/ui';
import { Plug, Plus, RadioTower, Trash2 } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import type { AgentView, McpServerView } from '../../../api-types.ts';
import { List, useRemove } from '../../shared/blocks.tsx';
import { Frame } from '../../shared/sections.tsx';
import { useList, useSend } from '../../shared/useList.ts';
import { AddServer, useTrial } from './AddServer.tsx';

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
