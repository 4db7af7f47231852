import { type CardTrust, cardTrustFields } from '@trunkline/a2a';
import { type Environment, readVariable, readVariables } from '@trunkline/config';
import { handedOn } from '@trunkline/identity';
import { defineTool, type Tool } from '@trunkline/llm';
import type { Sandbox } from '@trunkline/sandbox';
import { type Peers, peerRoles } from '@trunkline/service';
import { errorMessage } from '@trunkline/std';
import {
  createA2aDelegate,
  createCompatDelegate,
  createDelegateTo,
  type Delegate,
  DelegateError,
} from '@trunkline/tools';
import { z } from 'zod';
import type { AgentConfig } from '../setup/config-schema.ts';
import type { AcpAgent, CodingAgent } from './acp/run-agent.ts';
import { defineToolModule } from './tool-module.ts';

const peerTimeoutMs = 300_000;

/** Hands work to other agents. The peer tools are older than delegate_to and stay for those who use them. */
export const delegationTools = defineToolModule({
  name: 'delegation',
  tools({ delegates, env }) {
    const peers = readPeers(env);
    return [
      ...(delegates.length === 0 ? [] : [createDelegateTo({ delegates })]),
      ...(peers.length === 0 ? [] : [createPeerList(peers), createPeerConsult(peers)]),
    ];
  },
});

/** Another agent that the operator named by variables. */
interface Peer extends CardTrust {
  name: string;
  url: string;
  token: string | undefined;
}

/**
 * `PEER_<HANDLE>_URL`, with `PEER_<HANDLE>_TOKEN` beside it, and `PEER_<HANDLE>_CARD_KEYS` (a list in JSON) or
 * `PEER_<HANDLE>_CARD_JWKS` where its card is checked; the handle in lower case is the name.
 */
export function readPeers(env?: Environment): Peer[] {
  const urls = readVariables(/^PEER_(.+)_URL$/, env);
  const tokens = readVariables(/^PEER_(.+)_TOKEN$/, env);
  const keys = readVariables(/^PEER_(.+)_CARD_KEYS$/, env);
  const jwks = readVariables(/^PEER_(.+)_CARD_JWKS$/, env);
  return [...urls].map(([handle, url]) => ({
    name: handle.toLowerCase(),
    url,
    token: tokens.get(handle),
    cardKeys: readKeys(`PEER_${handle}_CARD_KEYS`, keys.get(handle)),
    cardJwks: jwks.get(handle),
  }));
}

function readKeys(variable: string, text: string | undefined): CardTrust['cardKeys'] {
  if (text === undefined) return undefined;
  try {
    return cardTrustFields.cardKeys.parse(JSON.parse(text));
  } catch (cause) {
    const example = '[{"kty":"OKP","crv":"Ed25519","x":"..."}]';
    throw new Error(`${variable} is not a list of public keys in JSON, such as ${example}.`, { cause });
  }
}

export function createPeerList(peers: readonly Peer[]): Tool {
  return defineTool({
    name: 'peer_list',
    effects: ['reads'],
    description: 'Lists the peer agents. Prefer delegate_to where it is offered.',
    input: z.object({}),
    execute: async () => peers.map(({ name, url }) => `${name} (${new URL(url).origin})`).join('\n'),
  });
}

export function createPeerConsult(peers: readonly Peer[]): Tool {
  return defineTool({
    name: 'peer_consult',
    effects: ['sends'],
    external: true,
    subject: ({ name }) => ({ recipient: name }),
    description: 'Asks a peer agent and gives its answer. Prefer delegate_to where it is offered.',
    input: z.object({
      name: z.string().describe('As peer_list gives it.'),
      message: z.string().min(1),
      skill: z.string().default('').describe("A skill of the peer's, if one is to be used."),
    }),
    timeoutMs: peerTimeoutMs,
    execute: async ({ name, message, skill }, context) => {
      const { signal, sessionId, idempotencyKey, attach, addOrigins } = context;
      const peer = peers.find((each) => each.name === name.trim().toLowerCase());
      if (peer === undefined)
        return `Error: there is no peer '${name}'. There are: ${peers.map((each) => each.name).join(', ')}.`;
      const delegate = createA2aDelegate({ ...peer, isBase: true, description: '', skill });
      const asked = { signal, sessionId, idempotencyKey, attach, addOrigins };
      return `[${peer.name}] ${await delegate.ask(message, asked)}`;
    },
  });
}

type DelegateConfig = AgentConfig['delegates'][number];

type ProcessConfig = Pick<
  DelegateConfig,
  'name' | 'args' | 'workdir' | 'env' | 'sandbox' | 'timeout_s' | 'permissions' | 'allow_kinds' | 'deny_kinds'
> & { command: string };

interface ProcessDefaults {
  /** Where agents that run as processes work when they name no place. */
  workspace: string;
  env: Environment | undefined;
  sandbox: Sandbox;
}

/** The delegates that the configuration enables. */
export function delegatesOf({ delegates }: AgentConfig, defaults: ProcessDefaults): Delegate[] {
  return delegates.filter(({ enabled }) => enabled).map((delegate) => toDelegate(delegate, defaults));
}

/** The coding agents that run as processes. */
export function codingAgentsOf({ coding_agents }: AgentConfig, defaults: ProcessDefaults): CodingAgent[] {
  return coding_agents.map((agent) => ({ ...toProcess(agent, defaults), confirm: agent.confirm }));
}

function toDelegate(delegate: DelegateConfig, defaults: ProcessDefaults): Delegate {
  const { name, description, token } = delegate;
  switch (delegate.type) {
    case 'a2a':
      return createA2aDelegate({ ...delegate, url: delegate.url ?? '', timeoutMs: undefined });
    case 'compat':
      return createCompatDelegate({
        name,
        description,
        url: delegate.url ?? '',
        model: delegate.model ?? '',
        ...(token !== undefined && { apiKey: token }),
      });
    case 'acp':
      return createAcpDelegate(
        toProcess({ ...delegate, command: delegate.command ?? '' }, defaults),
        description,
      );
  }
}

function toProcess(
  {
    name,
    command,
    args,
    workdir,
    env,
    timeout_s,
    permissions,
    allow_kinds,
    deny_kinds,
    ...rest
  }: ProcessConfig,
  { workspace, env: own, sandbox }: ProcessDefaults,
) {
  const path = readVariable('PATH', own);
  return {
    name,
    command,
    args,
    directory: workdir ?? workspace,
    env: { ...(path !== undefined && { PATH: path }), ...env },
    sandbox,
    sandboxSettings: rest.sandbox,
    timeoutMs: timeout_s * 1000,
    permissions,
    allow_kinds,
    deny_kinds,
  };
}

/** A delegate that runs as a process and speaks ACP. */
export function createAcpDelegate(agent: AcpAgent, description: string): Delegate {
  return {
    name: agent.name,
    description,
    timeoutMs: agent.timeoutMs,
    async ask(query, { signal }) {
      try {
        return await giveTask(agent, query, signal);
      } catch (error) {
        if (signal.aborted) throw error;
        throw new DelegateError('delegate_failed', errorMessage(error), { cause: error });
      }
    },
  };
}

/** Gives a task to an agent process. The library of the protocol is heavy: the first task loads it. */
export async function giveTask(agent: AcpAgent, task: string, signal: AbortSignal): Promise<string> {
  const { runAcpAgent } = await import('./acp/run-agent.ts');
  return runAcpAgent(agent, task, signal);
}

/** The peer services as delegates; one whose name the configuration uses itself is left out. `agentName` is ours in rules. */
export function peerDelegates(
  peers: Peers | undefined,
  named: readonly Delegate[],
  agentName: string,
): Delegate[] {
  if (peers === undefined) return [];
  return (['research', 'voice'] as const)
    .filter((name) => !named.some((delegate) => delegate.name === name))
    .map((name) => peerDelegate(peers, name, agentName));
}

/** Looks the address up with each call, as the peer may start later. */
function peerDelegate(peers: Peers, name: 'research' | 'voice', agentName: string): Delegate {
  const description = peerRoles[name];
  const delegates = new Map<string, Delegate>();
  return {
    name,
    description,
    internal: true,
    idempotent: true,
    answers: (sessionId) => [...delegates.values()].some((delegate) => delegate.answers?.(sessionId)),
    ask(query, context) {
      const url = peers.find(name)?.url;
      if (url === undefined)
        throw new DelegateError('delegate_unreachable', `${name} does not run at the moment.`);
      const delegate =
        delegates.get(url) ??
        createA2aDelegate({
          name,
          description,
          url,
          peer: { token: peers.serviceToken, name: 'agent', to: name },
        });
      delegates.set(url, delegate);
      // Rules for this agent hold there too, under the name that they have here.
      const principal = context.principal && handedOn(context.principal, agentName);
      return delegate.ask(query, { ...context, principal });
    },
  };
}
