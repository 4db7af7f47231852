import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createA2aServer } from '@trunkline/a2a';
import { createApp, serve } from '@trunkline/http';
import { reports } from './control.ts';

/** Our server as the services run it: the whole HTTP kit, tasks and events written to SQLite. */

const directory = mkdtempSync(join(tmpdir(), 'trunkline-bench-'));
for (const signal of ['SIGTERM', 'SIGINT'])
  process.on(signal, () => {
    rmSync(directory, { recursive: true, force: true });
    process.exit(0);
  });

const quiet = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: (fields: object, message: string) => console.error(message, fields),
  child: () => quiet,
};

const agent = createA2aServer({
  directory,
  logger: quiet,
  executor: {
    async *execute() {
      yield { type: 'completed', text: 'Hello from the bench' };
    },
  },
  card: () => ({
    name: 'Bench',
    description: 'Answers at once.',
    version: '1.0.0',
    publicUrl: 'http://127.0.0.1',
    skills: [],
  }),
});

const app = createApp({
  service: 'bench',
  version: '1.0.0',
  logger: quiet,
  renderError: (error) => ({ body: { detail: error.message } }),
  health: () => ({ status: 200, body: {} }),
});
for (const [path, report] of Object.entries(reports)) app.get(path, (context) => context.json(report()));
agent.mount(app);
const { port } = await serve(app, { host: '127.0.0.1', port: 0, portVariable: 'PORT', logger: quiet });
console.log(`listening on ${port}`);
