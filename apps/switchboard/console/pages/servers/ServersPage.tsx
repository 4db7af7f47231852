import { Button, ListPanel } from '@trunkline/ui';
import { Plug, Plus } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import type { AgentView, McpServerView } from '../../../api-types.ts';
import { Frame } from '../../app/Frame.tsx';
import { useList, useSend } from '../../shared/useList.ts';
import { AddServer } from './AddServer.tsx';
import { ServerRow } from './ServerRow.tsx';

/** MCP servers, whose tools are skills for everybody. */
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
      <ListPanel
        title="MCP servers"
        what="the MCP servers"
        list={list}
        empty={{
          icon: <Plug aria-hidden />,
          title: 'No MCP servers yet',
          next: 'Add one by its command or address, and test it before you save.',
        }}
        itemKey={({ name }) => name}
      >
        {(server) => <ServerRow server={server} tools={toolsOf(server.name)} onChanged={reload} />}
      </ListPanel>
      {adding && <AddServer onClose={() => setAdding(false)} onAdd={add} />}
    </Frame>
  );
}

const SOON_MS = 1500;

// Nothing is told when a server has been connected: it is asked after while one is not.
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
