import type { DescriptionView, PolicyView } from '@trunkline/std';
import {
  Button,
  Dialog,
  type JsonSchema,
  Lamp,
  stateLamp,
  useApi,
  useAttempt,
  useResource,
  useSend,
  useToast,
} from '@trunkline/ui';
import { ClipboardPaste, LogIn, Plug } from 'lucide-react';
import { useState } from 'react';
import type { McpServerState, TriedServer } from '../../../routes/mcp.ts';
import { type McpServer, useConfig, useLive } from '../../app/live.ts';
import { ConnectionList, linesOf, NAME, type Values } from './ConnectionList.tsx';
import { findingText, ImportServers } from './ImportServers.tsx';

const SHOWN_TOOLS = 12;
const TRIAL_MS = 70_000;

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
  const policy = useResource<PolicyView>('/operator/policy');
  const [importing, setImporting] = useState(false);
  /** Servers whose descriptions are to be read: those just added, or one that was chosen. */
  const [reviewed, setReviewed] = useState<readonly string[]>([]);
  const unaccepted = (policy.body?.descriptions ?? []).filter(({ state }) => state !== 'accepted');
  const shown = unaccepted.find(({ source }) => reviewed.includes(source));
  useLive(['config'], () => {
    reload();
    states.reload();
    policy.reload();
  });
  const add = async (title: string, ...servers: readonly object[]) => {
    const added = await change(
      title,
      ...servers.map((value) => ({ op: 'add' as const, path: ['mcp', 'servers'], value })),
    );
    if (added) setReviewed(servers.map((server) => String((server as { name?: unknown }).name)));
    return added;
  };
  const list = (
    <ConnectionList
      title="MCP servers"
      detail="Each runs as a process here, or answers at an address. Its tools are named after it."
      noun="Server"
      what="an MCP server"
      empty={{
        icon: <Plug aria-hidden />,
        title: 'No MCP servers yet',
        next: 'Import a known one, or add your own, and test it before you save.',
      }}
      actions={
        <Button size="small" icon={<ClipboardPaste aria-hidden />} onClick={() => setImporting(true)}>
          Import
        </Button>
      }
      entries={config?.mcp.servers}
      path={['mcp', 'servers']}
      change={change}
      onAdd={(server) => add('Server added.', server)}
      schema={FORM}
      toEntry={toServer}
      onTest={tryOut}
      onTestNew={(values) => tryOut(toServer(values))}
      show={(server: McpServer) => {
        const state = states.body?.servers.find(({ name }) => name === server.name);
        return {
          lead: <State enabled={server.enabled} state={state} />,
          tools: state && shortened(state.tools),
          body: (
            <Facts
              server={server}
              state={state}
              onReview={
                unaccepted.some(({ source }) => source === server.name)
                  ? () => setReviewed([server.name])
                  : undefined
              }
            />
          ),
        };
      }}
    />
  );
  return (
    <>
      {list}
      {importing && (
        <ImportServers
          onClose={() => setImporting(false)}
          onAdd={(servers) => add(servers.length === 1 ? 'Server added.' : 'Servers added.', ...servers)}
        />
      )}
      {shown && (
        <ReviewDescription
          key={shown.sha256}
          description={shown}
          onDone={() => {
            setReviewed(reviewed.filter((name) => name !== shown.source));
            policy.reload();
          }}
        />
      )}
    </>
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
      const { server: found } = await api.request<{ server: TriedServer }>('/api/mcp/servers/test', {
        body: server,
        timeLimitMs: TRIAL_MS,
      });
      const { state, stderr } = found;
      const isThere = state !== 'failed';
      toast({
        title: findingText(found),
        ...(stderr && { detail: stderr }),
        state: isThere ? 'live' : 'failed',
      });
    });
  };
}

function shortened(tools: readonly string[]): string[] {
  const more = tools.length - SHOWN_TOOLS;
  return [...tools.slice(0, SHOWN_TOOLS), ...(more > 0 ? [`and ${more} more`] : [])];
}

const TEXT = 'max-h-80 overflow-y-auto whitespace-pre-wrap break-words font-mono text-12';

interface ReviewProps {
  description: DescriptionView;
  onDone(): void;
}

/** Shows what a server says about its tools, which the model reads too, before it counts as the operator's own text. */
function ReviewDescription({ description: { kind, source, sha256, text, state }, onDone }: ReviewProps) {
  const send = useSend();
  const accept = async () => {
    const title = `What ${source} says is accepted.`;
    if (await send('/operator/policy/descriptions', { body: { kind, source, sha256 } }, { title })) onDone();
  };
  return (
    <Dialog
      open
      wide
      onClose={onDone}
      title={`What ${source} says about its tools`}
      detail={`The model reads this in every turn.${state === 'changed' ? ' It has changed since you accepted it.' : ''} Accept it if it only explains the tools. Until then it counts as text from outside: whatever has effects asks first.`}
      actions={
        <>
          <Button onClick={onDone}>Not now</Button>
          <Button variant="primary" onClick={() => void accept()}>
            Accept
          </Button>
        </>
      }
    >
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by the keyboard */}
      <pre tabIndex={0} className={TEXT}>
        {text}
      </pre>
    </Dialog>
  );
}

interface ServerProps {
  server: McpServer;
  state: McpServerState | undefined;
  /** Missing where all that it says is accepted. */
  onReview: (() => void) | undefined;
}

function Facts({ server, state, onReview }: ServerProps) {
  return (
    <>
      {onReview && (
        <p className="flex flex-wrap items-center gap-2 py-1 text-12 text-waiting-text">
          Nobody has accepted what it says about its tools: whatever has effects asks first.
          <Button size="small" onClick={onReview}>
            Review
          </Button>
        </p>
      )}
      <p className="truncate font-mono text-12 text-muted">
        {server.url ?? [server.command, ...server.args].join(' ')}
      </p>
      {state?.state === 'sign-in' && <SignIn name={server.name} />}
      {state?.reason && <p className="text-12 break-words text-failed-text">{state.reason}</p>}
      {state?.log && (
        <details className="text-12">
          <summary>Log of the server</summary>
          <pre className="whitespace-pre-wrap break-words font-mono text-muted">{state.log.join('\n')}</pre>
        </details>
      )}
      {state?.stderr && (
        <pre className="whitespace-pre-wrap break-words font-mono text-12 text-muted">{state.stderr}</pre>
      )}
    </>
  );
}

/** Leads to the page of the server at which the operator signs in; the browser comes back here. */
function SignIn({ name }: { name: string }) {
  const api = useApi();
  const attempt = useAttempt();
  const [busy, setBusy] = useState(false);
  const signIn = async () => {
    setBusy(true);
    await attempt(async () => {
      const path = `/api/mcp/servers/${encodeURIComponent(name)}/sign-in`;
      const { url } = await api.request<{ url: string | null }>(path, { body: {}, timeLimitMs: TRIAL_MS });
      if (url === null) window.location.reload();
      else window.location.assign(url);
    });
    setBusy(false);
  };
  return (
    <p className="py-1">
      <Button size="small" busy={busy} icon={<LogIn aria-hidden />} onClick={() => void signIn()}>
        Sign in
      </Button>
    </p>
  );
}

function State({ enabled, state }: { enabled: boolean; state: McpServerState | undefined }) {
  if (!enabled) return <Lamp {...stateLamp('off')} />;
  if (state === undefined) return <Lamp {...stateLamp('connecting')} />;
  if (state.state === 'sign-in') return <Lamp state="waiting" word="Sign in" />;
  return state.state === 'connected' ? (
    <Lamp {...stateLamp('connected')} />
  ) : (
    <Lamp {...stateLamp('failed')} />
  );
}
