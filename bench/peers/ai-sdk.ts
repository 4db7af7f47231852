import { join } from 'node:path';
import type { Peer } from './peer.ts';
import { post } from './processes.ts';

/** The AI SDK's own loop behind node:http: the least that answers at all. */
export const aiSdk: Peer = {
  name: 'AI SDK loop behind node:http',
  id: 'ai-sdk',
  kind: 'agent',
  package: 'ai',
  folder: '../..',
  needs: [],
  install: 'a development dependency of this repository',
  durability: 'nothing is kept',
  unfair: 'to everybody else: no conversation, no log, no checks',
  async start({ processes, gateway }) {
    const program = join(import.meta.dirname, '../agent/bare-loop.ts');
    const env = { LLM_GATEWAY_URL: gateway };
    const url = await processes.launch(process.execPath, [program], { env, ready: /(http:\S+)/ });
    return {
      async work() {
        const { text } = (await post(url, { prompt: 'What is 12 * 34?' })) as { text: string };
        if (!text.includes('408')) throw new Error(`The loop answered: ${text}`);
        return text;
      },
    };
  },
};
