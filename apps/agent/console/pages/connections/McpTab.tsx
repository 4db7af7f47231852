import { type JsonSchema, Lamp, stateLamp, useApi, useAttempt, useResource, useToast } from '@trunkline/ui';
import { Plug } from 'lucide-react';
import type { McpServerState } from '../../../routes/mcp.ts';
import { type McpServer, useConfig, useLive } from '../../app/live.ts';
import { ConnectionList, linesOf, NAME, type Values } from './ConnectionList.tsx';

const SHOWN_TOOLS = 12;

const FORM: JsonSchema = {
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

/** MCP servers whose tools the agent uses. */
export function McpTab() {
  const { config, change, reload } = useConfig();
  const states = useResource<{ servers: McpServerState[] }>('/api/mcp/servers');
  const tryOut = useTryMcp();
  useLive(['config'], () => {
    reload();
    states.reload();
  });
  return (
    <ConnectionList
      title="MCP servers"
      detail="Each runs as a process here, or answers at an address. Its tools are named after it."
      noun="Server"
      what="an MCP server"
      empty={{
        icon: <Plug aria-hidden />,
        title: 'No MCP servers yet',
        next: 'Add one, and test it before you save.',
      }}
      entries={config?.mcp.servers}
      path={['mcp', 'servers']}
      change={change}
      schema={FORM}
      toEntry={toServer}
      onTest={tryOut}
      onTestNew={(values) => tryOut(toServer(values))}
      show={(server: McpServer) => {
        const state = states.body?.servers.find(({ name }) => name === server.name);
        return {
          lead: <State enabled={server.enabled} state={state} />,
          tools: state && shortened(state.tools),
          body: <Facts server={server} state={state} />,
        };
      }}
    />
  );
}

function toServer({ args, token, ...rest }: Values): Values {
  const headers = token === undefined ? undefined : { authorization: `Bearer ${token}` };
  return { ...rest, args: linesOf(args), headers };
}

// Connects briefly and shows the result.
function useTryMcp() {
  const api = useApi();
  const attempt = useAttempt();
  const toast = useToast();
  return async (server: object): Promise<void> => {
    await attempt(async () => {
      const { server: found } = await api.request<{ server: McpServerState }>('/api/mcp/servers/test', {
        body: server,
      });
      const { name, state, tools, reason, stderr } = found;
      if (state === 'connected')
        toast({ title: `${name} answers.`, detail: `It has ${tools.length} tools.`, state: 'live' });
      else
        toast({
          title: `${name} does not answer.`,
          detail: [reason, stderr].filter(Boolean).join('\n'),
          state: 'failed',
        });
    });
  };
}

function shortened(tools: readonly string[]): string[] {
  const more = tools.length - SHOWN_TOOLS;
  return [...tools.slice(0, SHOWN_TOOLS), ...(more > 0 ? [`and ${more} more`] : [])];
}

interface ServerProps {
  server: McpServer;
  state: McpServerState | undefined;
}

function Facts({ server, state }: ServerProps) {
  return (
    <>
      <p className="truncate font-mono text-12 text-muted">
        {server.url ?? [server.command, ...server.args].join(' ')}
      </p>
      {state?.reason && <p className="text-12 break-words text-failed-text">{state.reason}</p>}
      {state?.stderr && (
        <pre className="whitespace-pre-wrap break-words font-mono text-12 text-muted">{state.stderr}</pre>
      )}
    </>
  );
}

function State({ enabled, state }: { enabled: boolean; state: McpServerState | undefined }) {
  if (!enabled) return <Lamp {...stateLamp('off')} />;
  if (state === undefined) return <Lamp {...stateLamp('connecting')} />;
  return state.state === 'connected' ? (
    <Lamp {...stateLamp('connected')} />
  ) : (
    <Lamp {...stateLamp('failed')} />
  );
}
