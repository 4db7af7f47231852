import { defaultRetainBytes } from '@trunkline/bus';
import { natsMissing, startNatsServer } from '@trunkline/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startSwitchboard } from '../fixtures/start-switchboard.ts';
import { switchboardOptions } from '../options.ts';

const files = {
  'keys.yaml': `keys:
  - { name: ava, envKey: KEY_OF_AVA, publish: ["note.#"], subscribe: ["note.#"] }
  - { name: max, envKey: KEY_OF_MAX, publish: ["note.#"], subscribe: ["note.#"] }
`,
  'agents/helm.yaml': 'name: helm\nrole: general\nsystemPrompt: You answer.\nskills: [{ name: chat }]\n',
};
const env = { SWITCHBOARD_API_KEY: 'operator-key', KEY_OF_AVA: 'ava-key', KEY_OF_MAX: 'max-key' };
const text = 'x'.repeat(600_000);

describe.each(['embedded', 'nats'] as const)('on the bus %s', (engine) => {
  it.skipIf(engine === 'nats' && natsMissing !== undefined)(
    'a caller sends so much a day by every door together, and others are not concerned',
    async () => {
      const nats = engine === 'nats' ? await startNatsServer() : undefined;
      onTestFinished(async () => await nats?.stop());
      const bus = nats === undefined ? {} : { NATS_URL: nats.url };
      const board = await startSwitchboard({ env: { ...env, ...bus, SWITCHBOARD_DAILY_MB: '1' }, files });
      onTestFinished(() => board.stop());
      const headers = (name: string) => ({ 'x-api-key': `${name}-key`, 'content-type': 'application/json' });
      const publish = async (name: string) => {
        const body = JSON.stringify({ topic: 'note.new', payload: { content: text } });
        const answer = await board.fetch('/publish', { method: 'POST', headers: headers(name), body });
        return { status: answer.status, words: await answer.text() };
      };
      const ask = async (name: string, content: string) => {
        const message = { kind: 'message', messageId: crypto.randomUUID(), role: 'user' };
        const parts = [{ kind: 'text', text: content }];
        const params = { message: { ...message, parts }, configuration: { blocking: false } };
        const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/send', params });
        return (await board.fetch('/a2a', { method: 'POST', headers: headers(name), body })).json();
      };
      expect((await publish('ava')).status).toBe(200);
      const refused = await publish('ava');
      expect([refused.status, refused.words]).toEqual([
        429,
        expect.stringMatching(/keeps 0\.6 MB .* 1\.0 MB \(SWITCHBOARD_DAILY_MB\): .*wait a day/),
      ]);
      expect(await ask('ava', text)).toMatchObject({
        error: { message: expect.stringContaining('SWITCHBOARD_DAILY_MB') },
      });
      expect(await ask('ava', 'Hello.')).toMatchObject({ result: { kind: 'task' } });
      expect((await publish('max')).status).toBe(200);
      expect([(await publish('operator')).status, (await publish('operator')).status]).toEqual([200, 200]);
    },
  );
});

it('leaves others room in the journal by default for the seven days that it is kept', () => {
  const { default: megabytes } = switchboardOptions.options.dailyMb;
  expect(7 * Number(megabytes) * 2 ** 20).toBeLessThan(defaultRetainBytes / 2);
});
