import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Peer, Place } from './peer.ts';
import { freePort, post } from './processes.ts';

const command = join(import.meta.dirname, 'large/n8n/node_modules/n8n/bin/n8n');
const workflow = {
  id: 'bench',
  name: 'bench',
  active: false,
  settings: {},
  nodes: [
    {
      id: 'in',
      name: 'in',
      type: 'n8n-nodes-base.webhook',
      typeVersion: 2,
      position: [0, 0],
      webhookId: 'bench',
      parameters: { httpMethod: 'POST', path: 'bench', responseMode: 'lastNode' },
    },
    {
      id: 'do',
      name: 'do',
      type: 'n8n-nodes-base.set',
      typeVersion: 3.4,
      position: [200, 0],
      parameters: {
        mode: 'raw',
        jsonOutput: '={{ { "text": $json.body.text, "id": $execution.id } }}',
        options: {},
      },
    },
  ],
  connections: { in: { main: [[{ node: 'do', type: 'main', index: 0 }]] } },
};

/** n8n with its own SQLite file: a webhook, one node that sets the answer, and the answer. */
export const n8n: Peer = {
  name: 'n8n',
  id: 'n8n',
  kind: 'bus',
  package: 'n8n',
  folder: 'large/n8n',
  rebuild: ['sqlite3'],
  needs: [],
  install: 'npm, 2.2 GB, and a compiler where no built sqlite3 can be fetched; runs when named',
  durability: 'workflow, execution and its data in SQLite, written when the execution ends',
  unfair: 'to n8n: made for work between services that each take long, not for many short messages',
  optional: true,
  units: 300,
  async prepare(place) {
    if (existsSync(join(place.home, 'workflow.json'))) return;
    const file = join(place.home, 'workflow.json');
    writeFileSync(file, JSON.stringify(workflow));
    for (const args of [
      ['import:workflow', `--input=${file}`],
      ['publish:workflow', '--id=bench'],
    ])
      await place.processes.run(process.execPath, [command, ...args], environment(place, 0));
  },
  async start(place) {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    await place.processes.launch(process.execPath, [command, 'start'], {
      ready: /(Editor is now accessible)/,
      env: environment(place, port),
    });
    return {
      async work() {
        const { text, id } = (await post(`${url}/webhook/bench`, { text: 'ping' })) as Record<string, string>;
        if (text !== 'ping' || id === undefined) throw new Error(`n8n answered ${text}.`);
        return id;
      },
      async isKept(id) {
        const database = new DatabaseSync(join(place.home, '.n8n/database.sqlite'), { readOnly: true });
        const row = database.prepare('SELECT status FROM execution_entity WHERE id = ?').get(Number(id));
        database.close();
        return row?.status === 'success';
      },
    };
  },
};

function environment({ home }: Place, port: number): Record<string, string> {
  return {
    N8N_USER_FOLDER: home,
    N8N_PORT: String(port),
    N8N_LISTEN_ADDRESS: '127.0.0.1',
    N8N_DIAGNOSTICS_ENABLED: 'false',
    N8N_VERSION_NOTIFICATIONS_ENABLED: 'false',
    N8N_TEMPLATES_ENABLED: 'false',
    N8N_PERSONALIZATION_ENABLED: 'false',
    EXTERNAL_FRONTEND_HOOKS_URLS: '',
  };
}
