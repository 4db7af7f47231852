import {
  Badge,
  Button,
  EmptyState,
  IconButton,
  Lamp,
  Panel,
  Skeleton,
  SwitchField,
  useApi,
  useAttempt,
  useResource,
  useToast,
} from '@trunkline/ui';
import { Plug, Plus, RadioTower, Trash2 } from 'lucide-react';
import { useState } from 'react';
import type { McpServerState } from '../../../routes/mcp.ts';
import { type McpServer, useConfig, useLive } from '../../app/live.ts';
import { AddDialog, MCP_FORM, mcpServerOf } from './AddDialog.tsx';

/** MCP servers whose tools the agent uses. */
export function McpTab() {
  const { config, change, reload } = useConfig();
  const states = useResource<{ servers: McpServerState[] }>('/api/mcp/servers');
  const [adding, setAdding] = useState(false);
  const tryOut = useTryMcp();
  useLive(['config'], () => {
    reload();
    states.reload();
  });
  const servers = config?.mcp.servers;
  const place = (index: number, ...rest: string[]) => ['mcp', 'servers', index, ...rest];
  return (
    <Panel
      title="MCP servers"
      detail="Each runs as a process here, or answers at an address. Its tools are named after it."
      flush
      actions={
        <Button size="small" icon={<Plus aria-hidden />} onClick={() => setAdding(true)}>
          Add a server
        </Button>
      }
    >
      {servers === undefined && <Skeleton className="p-4" />}
      {servers?.length === 0 && (
        <EmptyState
          icon={<Plug aria-hidden />}
          title="No MCP servers yet"
          next="Add one, and test it before you save."
        />
      )}
      <ul>
        {servers?.map((server, index) => (
          <Row
            key={server.name}
            server={server}
            state={states.body?.servers.find(({ name }) => name === server.name)}
            onTest={() => void tryOut(server)}
            onEnable={(value) =>
              void change(value ? 'Connecting.' : 'Switched off.', {
                op: 'set',
                path: place(index, 'enabled'),
                value,
              })
            }
            onRemove={() => void change('Server removed.', { op: 'remove', path: place(index) })}
          />
        ))}
      </ul>
      {adding && (
        <AddDialog
          title="Add an MCP server"
          schema={MCP_FORM}
          onClose={() => setAdding(false)}
          onTest={(values) => tryOut(mcpServerOf(values))}
          onAdd={(values) =>
            change('Server added.', { op: 'add', path: ['mcp', 'servers'], value: mcpServerOf(values) })
          }
        />
      )}
    </Panel>
  );
}

// Connects for a moment, and says what came of it.
function useTryMcp() {
  const api = useApi();
  const attempt = useAttempt();
  const toast = useToast();
  return async (server: Partial<McpServer>): Promise<void> => {
    await attempt(async () => {
      const { server: state } = await api.request<{ server: McpServerState }>('/api/mcp/servers/test', {
        body: server,
      });
      if (state.state === 'connected') {
        toast({
          title: `${state.name} answers.`,
          detail: `It has ${state.tools.length} tools.`,
          state: 'live',
        });
      } else {
        toast({
          title: `${state.name} does not answer.`,
          detail: [state.reason, state.stderr].filter(Boolean).join('\n'),
          state: 'failed',
        });
      }
    });
  };
}

interface RowProps {
  server: McpServer;
  state: McpServerState | undefined;
  onTest(): void;
  onEnable(on: boolean): void;
  onRemove(): void;
}

function Row({ server, state, onTest, onEnable, onRemove }: RowProps) {
  return (
    <li className="flex flex-wrap items-center gap-3 border-line border-b px-4 py-3 last:border-b-0">
      <div className="min-w-0 flex-1 basis-64">
        <p className="flex items-center gap-3 font-medium">
          {server.name} <State enabled={server.enabled} state={state} />
        </p>
        <p className="truncate font-mono text-12 text-muted">
          {server.url ?? [server.command, ...server.args].join(' ')}
        </p>
        {state?.reason && <p className="text-12 break-words text-failed-text">{state.reason}</p>}
        {state?.stderr && (
          <pre className="whitespace-pre-wrap break-words font-mono text-12 text-muted">{state.stderr}</pre>
        )}
        <p className="mt-1 flex flex-wrap gap-1">
          {state?.tools.slice(0, 12).map((tool) => (
            <Badge key={tool}>{tool}</Badge>
          ))}
          {state && state.tools.length > 12 && <Badge>and {state.tools.length - 12} more</Badge>}
        </p>
      </div>
      <SwitchField label={`Use ${server.name}`} checked={server.enabled} onChange={onEnable} />
      <div className="flex">
        <IconButton small label={`Test ${server.name}`} icon={<RadioTower aria-hidden />} onClick={onTest} />
        <IconButton small label={`Remove ${server.name}`} icon={<Trash2 aria-hidden />} onClick={onRemove} />
      </div>
    </li>
  );
}

function State({ enabled, state }: { enabled: boolean; state: McpServerState | undefined }) {
  if (!enabled) return <Lamp state="idle" word="Off" />;
  if (state === undefined) return <Lamp state="waiting" word="Connecting" />;
  return state.state === 'connected' ? (
    <Lamp state="live" word="Connected" />
  ) : (
    <Lamp state="failed" word="Failed" />
  );
}
