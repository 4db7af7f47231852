import { join } from 'node:path';
import type { Peer } from './peer.ts';
import { freePort, post } from './processes.ts';

const program = join(import.meta.dirname, 'programs/bullmq.js');

/** A queue on Redis: HTTP in, a job, the worker's result out. */
export const bullmq: Peer = {
  ...define([]),
  name: 'BullMQ',
  id: 'bullmq',
  durability: 'snapshots of Redis, at the earliest after a minute: what was answered since is lost',
  unfair: 'to those that write before they answer',
};

export const bullmqDurable: Peer = {
  ...define(['--appendonly', 'yes', '--appendfsync', 'always']),
  name: 'BullMQ, fsync always',
  id: 'bullmq-fsync',
  durability: 'each command is on disk before Redis answers (appendfsync always; not the default)',
  unfair: 'to nobody that we know of: this is as durable as ours',
};

type Same = Pick<Peer, 'kind' | 'package' | 'folder' | 'needs' | 'install' | 'start'>;

function define(settings: readonly string[]): Same {
  return {
    kind: 'bus',
    package: 'bullmq',
    folder: '.',
    needs: ['redis-server'],
    install: 'redis-server from Debian',
    async start({ processes, home }) {
      const port = String(await freePort());
      const args = ['--bind', '127.0.0.1', '--port', port, '--dir', home, ...settings];
      await processes.launch('redis-server', args, { ready: /(Ready to accept connections)/ });
      const env = { REDIS_PORT: port };
      await processes.launch(process.execPath, [program, 'worker'], { env, ready: /(ready)/ });
      const url = await processes.launch(process.execPath, [program, 'http'], { env, ready: /ready: (\S+)/ });
      return {
        async work() {
          const { text, id } = (await post(url, { text: 'ping' })) as { text: string; id: string };
          if (text !== 'ping') throw new Error(`BullMQ answered ${text}.`);
          return id;
        },
        async isKept(id) {
          const answer = await fetch(`${url}/${id}`, { signal: AbortSignal.timeout(10_000) });
          return ((await answer.json()) as { state: string }).state === 'completed';
        },
      };
    },
  };
}
