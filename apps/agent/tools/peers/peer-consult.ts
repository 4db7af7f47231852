import { defineTool, type Tool } from '@trunkline/llm';
import { createA2aDelegate, orRefusal } from '@trunkline/tools';
import { z } from 'zod';
import type { Peer } from './peers.ts';

const input = z.object({
  name: z.string().describe('As peer_list gives it.'),
  message: z.string().min(1),
  skill: z.string().default('').describe("A skill of the peer's, if one is to be used."),
});

const TIMEOUT_MS = 300_000;

export function createPeerConsult(peers: readonly Peer[]): Tool {
  return defineTool({
    name: 'peer_consult',
    description: 'Asks a peer agent and gives its answer. Prefer delegate_to where it is offered.',
    input,
    timeoutMs: TIMEOUT_MS,
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
