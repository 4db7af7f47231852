import { join } from 'node:path';
import { a2a } from './ours.ts';
import type { Peer } from './peer.ts';

/** The official A2A SDK's server on express, as its guide sets it up, around the AI SDK's loop. */
export const a2aSdk: Peer = {
  name: 'A2A SDK server on the AI SDK loop',
  id: 'a2a-sdk',
  kind: 'agent',
  package: '@a2a-js/sdk',
  folder: '../..',
  needs: [],
  install: 'a development dependency of this repository',
  durability: 'tasks in memory only (the SDK’s InMemoryTaskStore)',
  unfair: 'to everybody else: tasks are kept in memory, and one tool is offered',
  async start({ processes, gateway }) {
    const program = join(import.meta.dirname, 'programs/a2a-sdk.ts');
    const env = { LLM_GATEWAY_URL: gateway };
    const url = await processes.launch(process.execPath, [program], { env, ready: /(http:\S+)/ });
    return a2a(url, { text: 'What is 12 * 34?' }, '408');
  },
};
