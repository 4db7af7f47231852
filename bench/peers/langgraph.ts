import { copyFileSync, existsSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Peer } from './peer.ts';
import { freePort, post } from './processes.ts';

const modules = join(import.meta.dirname, 'node_modules');

/** LangGraph's dev server, the one that its npm packages hold: `langgraphjs dev`. */
export const langgraph: Peer = {
  name: 'LangGraph dev server',
  id: 'langgraph',
  kind: 'agent',
  package: '@langchain/langgraph-cli',
  folder: '.',
  needs: [],
  install: 'npm only; the production server is a container with Postgres and Redis and is not measured',
  durability: 'threads and checkpoints in memory, written to files now and then',
  unfair: 'to LangGraph: its dev server is not meant for load, and watches its files',
  async start({ processes, home, gateway }) {
    copyFileSync(join(import.meta.dirname, 'programs/langgraph.js'), join(home, 'graph.js'));
    if (!existsSync(join(home, 'node_modules'))) symlinkSync(modules, join(home, 'node_modules'));
    const settings = {
      node_version: '22',
      dependencies: ['.'],
      graphs: { bench: './graph.js:graph' },
      env: {},
    };
    writeFileSync(join(home, 'package.json'), '{"type":"module"}');
    writeFileSync(join(home, 'langgraph.json'), JSON.stringify(settings));
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const command = join(modules, '@langchain/langgraph-cli/dist/cli/cli.mjs');
    const args = [command, 'dev', '--host', '127.0.0.1', '--port', String(port), '--no-browser'];
    await processes.launch(process.execPath, args, {
      ready: `${url}/ok`,
      env: { LLM_GATEWAY_URL: gateway, LANGSMITH_TRACING: 'false', LANGGRAPH_CLI_NO_ANALYTICS: '1' },
    });
    return {
      async work() {
        const thread = crypto.randomUUID();
        const messages = [{ role: 'user', content: 'What is 12 * 34?' }];
        const run = { assistant_id: 'bench', if_not_exists: 'create', input: { messages } };
        const answer = JSON.stringify(await post(`${url}/threads/${thread}/runs/wait`, run));
        if (!answer.includes('408')) throw new Error(`LangGraph answered: ${answer.slice(0, 300)}`);
        return thread;
      },
      async isKept(thread) {
        const found = await fetch(`${url}/threads/${thread}/state`, { signal: AbortSignal.timeout(10_000) });
        return found.ok && (await found.text()).includes('408');
      },
    };
  },
};
