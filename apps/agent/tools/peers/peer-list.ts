import { defineTool, type Tool } from '@trunkline/llm';
import { z } from 'zod';
import type { Peer } from './peers.ts';

export function createPeerList(peers: readonly Peer[]): Tool {
  return defineTool({
    name: 'peer_list',
    description: 'Lists the peer agents. Prefer delegate_to where it is offered.',
    input: z.object({}),
    execute: async () => peers.map(({ name, url }) => `${name} (${new URL(url).origin})`).join('\n'),
  });
}
