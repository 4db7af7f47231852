import { defaultRetainBytes } from '@trunkline/bus';
import {
  callersOf,
  natsMissing,
  noPeers,
  person,
  startNatsServer,
  type TestCaller,
} from '@trunkline/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { agent } from '../fixtures/crew.ts';
import { startSwitchboard } from '../fixtures/start-switchboard.ts';
import { switchboardOptions } from '../options.ts';

const peers = noPeers();
const files = { 'agents/helm.yaml': agent('helm', 'role: orchestrator\nskills: [{ name: chat }]') };
const long = 'x'.repeat(600_000);

const publish = (caller: TestCaller) =>
  caller('POST /publish', { topic: 'message.inbound.api.note', payload: { content: long } });

function ask(caller: TestCaller, text: string, { files = [] as object[], metadata = {} } = {}) {
  const parts = [{ kind: 'text', text }, ...files];
  const message = { kind: 'message', messageId: crypto.randomUUID(), role: 'user', parts };
  const params = { message, metadata, configuration: { blocking: false } };
  return caller('POST /a2a', { jsonrpc: '2.0', id: 1, method: 'message/send', params });
}

describe.each(['embedded', 'nats'] as const)('on the bus %s', (engine) => {
  it.skipIf(engine === 'nats' && natsMissing !== undefined)(
    'a caller sends so much a day by every door together, and others are not concerned',
    async () => {
      const nats = engine === 'nats' ? await startNatsServer() : undefined;
      onTestFinished(async () => await nats?.stop());
      const env = { TRUNKLINE_OPEN: '0', SWITCHBOARD_DAILY_MB: '1', ...(nats && { NATS_URL: nats.url }) };
      const board = await startSwitchboard({ env, files, peers });
      onTestFinished(() => board.stop());
      const who = callersOf({ url: board.url, home: board.home, serviceToken: peers.serviceToken });
      expect((await publish(who.ava)).status).toBe(200);
      const refused = await publish(who.ava);
      expect([refused.status, refused.text]).toEqual([
        429,
        expect.stringMatching(/keeps 0\.6 MB .* 1\.0 MB \(SWITCHBOARD_DAILY_MB\): .*wait a day/),
      ]);
      expect((await ask(who.ava, long)).text).toContain('SWITCHBOARD_DAILY_MB');
      expect((await ask(who.ava, 'Hello.')).text).toContain('"kind":"task"');
      // What came over A2A counts for the other doors, too.
      expect((await ask(who.bob, long)).text).toContain('"kind":"task"');
      expect((await publish(who.bob)).status).toBe(429);
      for (const _ of [1, 2]) expect((await publish(who.operator)).status).toBe(200);
      // Whatever a task keeps counts, not its words alone.
      const file = { name: 'a.txt', mimeType: 'text/plain', bytes: Buffer.from(long).toString('base64') };
      const [cid, kept] = [who.as(person('cid')), { files: [{ kind: 'file', file }] }];
      expect((await ask(cid, 'Read this.', kept)).text).toContain('"kind":"task"');
      expect((await ask(cid, 'Read this.', kept)).text).toContain('SWITCHBOARD_DAILY_MB');
      expect((await ask(cid, 'Hello.', { metadata: { note: long } })).text).toContain('SWITCHBOARD_DAILY_MB');
    },
  );
});

it('leaves others room by default in the journal of one switchboard for the seven days that it is kept', () => {
  const { default: megabytes } = switchboardOptions.options.dailyMb;
  expect(7 * Number(megabytes) * 2 ** 20).toBeLessThan(defaultRetainBytes / 2);
});
