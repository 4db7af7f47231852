// A leader by hand: a key of NATS that lasts five seconds, renewed by whoever holds it and asked for every second by the others.
import { createRequire } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';

interface Bucket {
  create(key: string, value: string): Promise<number>;
  update(key: string, value: string, version: number): Promise<number>;
}

const require = createRequire(new URL('../../packages/bus/index.ts', import.meta.url));
const { connect } = require('@nats-io/transport-node') as { connect(options: object): Promise<object> };
const { Kvm } = require('@nats-io/kv') as {
  Kvm: new (connection: object) => { create(name: string, options: object): Promise<Bucket> };
};
const [url = '', name = ''] = process.argv.slice(2);
const bucket = await new Kvm(await connect({ servers: url })).create('peer-lease', { ttl: 5000, history: 1 });
let revision = 0;
for (;;) {
  try {
    if (revision > 0) revision = await bucket.update('leader', name, revision);
    else {
      revision = await bucket.create('leader', name);
      console.log('leads');
    }
  } catch {
    revision = 0;
  }
  await delay(1000);
}
