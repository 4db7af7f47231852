import { type Environment, readVariables } from '@trunkline/config';
import { defineTool, type Tool } from '@trunkline/llm';
import { createA2aDelegate, createDelegateTo, orRefusal } from '@trunkline/tools';
import { z } from 'zod';
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
interface Peer {
  name: string;
  url: string;
  token: string | undefined;
}

/** `PEER_<HANDLE>_URL`, with `PEER_<HANDLE>_TOKEN` beside it; the handle in lower case is the name. */
export function readPeers(env?: Environment): Peer[] {
  const urls = readVariables(/^PEER_(.+)_URL$/, env);
  const tokens = readVariables(/^PEER_(.+)_TOKEN$/, env);
  return [...urls].map(([handle, url]) => ({ name: handle.toLowerCase(), url, token: tokens.get(handle) }));
}

export function createPeerList(peers: readonly Peer[]): Tool {
  return defineTool({
    name: 'peer_list',
    description: 'Lists the peer agents. Prefer delegate_to where it is offered.',
    input: z.object({}),
    execute: async () => peers.map(({ name, url }) => `${name} (${new URL(url).origin})`).join('\n'),
  });
}

export function createPeerConsult(peers: readonly Peer[]): Tool {
  return defineTool({
    name: 'peer_consult',
    description: 'Asks a peer agent and gives its answer. Prefer delegate_to where it is offered.',
    input: z.object({
      name: z.string().describe('As peer_list gives it.'),
      message: z.string().min(1),
      skill: z.string().default('').describe("A skill of the peer's, if one is to be used."),
    }),
    timeoutMs: peerTimeoutMs,
    execute: ({ name, message, skill }, { signal, sessionId }) =>
      orRefusal(async () => {
        const peer = peers.find((each) => each.name === name.trim().toLowerCase());
        if (peer === undefined)
          return `Error: there is no peer '${name}'. There are: ${peers.map((each) => each.name).join(', ')}.`;
        const delegate = createA2aDelegate({ ...peer, description: '', skill });
        return `[${peer.name}] ${await delegate.ask(message, { signal, sessionId })}`;
      }, signal),
  });
}
