import { join } from 'node:path';
import type { Peer } from './peer.ts';
import { freePort, post } from './processes.ts';

const program = join(import.meta.dirname, 'programs/nats.js');

/** Plain NATS, a request over a subject to another process, behind node:http. */
export const nats: Peer = {
  name: 'NATS + node:http',
  id: 'nats',
  kind: 'bus',
  package: '@nats-io/transport-node',
  folder: '.',
  needs: ['nats-server'],
  install: 'nats-server from Debian, with its own defaults: no JetStream',
  durability: 'nothing is kept',
  unfair: 'to everybody else: a message that nobody takes at that moment is lost',
  async start({ processes }) {
    const port = await freePort();
    const args = ['-a', '127.0.0.1', '-p', String(port)];
    await processes.launch('nats-server', args, { ready: /(Server is ready)/ });
    const env = { NATS_URL: `nats://127.0.0.1:${port}` };
    await processes.launch(process.execPath, [program, 'handler'], { env, ready: /(ready)/ });
    const url = await processes.launch(process.execPath, [program, 'http'], { env, ready: /ready: (\S+)/ });
    return {
      async work() {
        const { text } = (await post(url, { text: 'ping' })) as { text: string };
        if (text !== 'ping') throw new Error(`NATS answered ${text}.`);
        return text;
      },
    };
  },
};
