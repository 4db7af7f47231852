// A leader by hand: a key of NATS that lasts five seconds, renewed by whoever holds it and asked for every second by the others.

import { setTimeout as delay } from 'node:timers/promises';
import { Kvm } from '@nats-io/kv';
import { connect } from '@nats-io/transport-node';

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
