import { join } from 'node:path';
import type { Peer } from './peer.ts';
import { freePort, post } from './processes.ts';

const program = join(import.meta.dirname, 'programs/mastra.js');

/** The server that `mastra start` runs, without its bundler. */
export const mastra: Peer = {
  ...define({}),
  name: 'Mastra',
  id: 'mastra',
  durability: 'nothing is kept (no storage configured, its default)',
  unfair: 'to those that keep conversations',
};

export const mastraMemory: Peer = {
  ...define({ memory: true }),
  name: 'Mastra with memory',
  id: 'mastra-memory',
  durability: 'thread and messages in LibSQL (a SQLite file)',
  unfair: 'to nobody that we know of',
};

type Same = Pick<Peer, 'kind' | 'package' | 'folder' | 'needs' | 'install' | 'start'>;

function define({ memory }: { memory?: true }): Same {
  return {
    kind: 'agent',
    package: '@mastra/core',
    folder: '.',
    needs: [],
    install: 'npm only',
    async start({ processes, home, gateway }) {
      const port = await freePort();
      const url = `http://127.0.0.1:${port}/api`;
      await processes.launch(process.execPath, [program], {
        ready: `${url}/agents`,
        env: {
          LLM_GATEWAY_URL: gateway,
          PORT: String(port),
          MASTRA_TELEMETRY_DISABLED: '1',
          ...(memory && { MASTRA_MEMORY: join(home, 'memory.db') }),
        },
      });
      return {
        async work() {
          const thread = crypto.randomUUID();
          const messages = [{ role: 'user', content: 'What is 12 * 34?' }];
          const { text } = (await post(`${url}/agents/bench/generate`, {
            messages,
            ...(memory && { memory: { thread, resource: 'bench' } }),
          })) as { text: string };
          if (!text.includes('408')) throw new Error(`Mastra answered: ${text}`);
          return thread;
        },
        ...(memory && {
          async isKept(thread: string) {
            const found = await fetch(`${url}/memory/threads/${thread}/messages?agentId=bench`, {
              signal: AbortSignal.timeout(10_000),
            });
            return found.ok && (await found.text()).includes('408');
          },
        }),
      };
    },
  };
}
