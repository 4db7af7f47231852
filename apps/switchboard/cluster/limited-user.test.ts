import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type ModelServer,
  type NatsServer,
  natsMissing,
  startModelServer,
  startNatsServer,
  waitFor,
} from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { agent } from '../fixtures/crew.ts';
import { startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';

/** What the guide tells operators to write. */
const documented = /authorization \{\n {2}users:.*?\n\}/s.exec(
  readFileSync(join(import.meta.dirname, '../../../docs/several-machines.md'), 'utf8'),
)?.[0] as string;

describe.skipIf(natsMissing !== undefined)('a NATS user with limited permissions', () => {
  let nats: NatsServer;
  let model: ModelServer;
  let board: TestSwitchboard | undefined;
  beforeEach(async () => {
    model = await startModelServer({ script: () => 'Here.' });
    board = undefined;
  });
  afterEach(async () => {
    await board?.stop();
    await nats.stop();
    await model.stop();
  });

  /** What the server has refused. */
  const violations = () => [...new Set(nats.log().match(/\w+ Violation - [^\n]*/g))];
  const startServer = async (withheld?: string) => {
    expect(withheld === undefined || documented.includes(withheld)).toBe(true);
    const authorization = withheld
      ? documented.replace(withheld, withheld.replace(/"[^"]*"$/, '"unused"'))
      : documented;
    nats = await startNatsServer({ configuration: authorization.replace('$NATS_PASSWORD', 'secret') });
  };
  const start = async (home?: string) => {
    const access = { NATS_URL: nats.url, NATS_USER: 'switchboard', NATS_PASSWORD: 'secret' };
    board = await startSwitchboard({
      ...(home === undefined
        ? { files: { 'agents/helm.yaml': agent('helm', 'role: general\nskills: [{ name: chat }]') } }
        : { home }),
      env: { ...access, LLM_GATEWAY_URL: model.url, LLM_API_KEY: 'k', LLM_MODEL: 'm' },
    });
    return board;
  };

  it('can do everything with those that the guide lists', async () => {
    await startServer();
    let running = await start();
    const work = async (correlationId: string) => {
      await waitFor(async () => (await running.fetch('/ready')).status === 200);
      const payload = { skillHint: 'chat', content: 'Hello' };
      await running.call('/publish', { topic: 'agent.skill.request', payload, correlationId });
      await waitFor(
        async () =>
          (await running.call(`/api/flows/skill-${correlationId}`)).body.data?.status === 'complete',
      );
      const asking = running.call('/api/agent/ask-human', { correlationId, question: 'Which?' });
      const [{ requestId }] = await waitFor(async () => {
        const { data } = (await running.call('/api/hitl/pending')).body;
        return data.length > 0 && data;
      });
      expect((await running.call('/api/a2a/input', { requestId, answer: 'That' })).status).toBe(200);
      expect((await asking).body.answer).toBe('That');
      const history = await running.call(`/api/bus/history?correlationId=${correlationId}`);
      expect(history.body.data.messages.length).toBeGreaterThan(0);
      expect((await running.call('/api/dead-letters')).body.data.count).toBe(0);
      expect((await running.call('/api/cluster')).body.data.nats.streams.length).toBeGreaterThan(2);
      expect((await running.call('/api/cluster')).body.data.isLeader).toBe(true);
    };
    await work('first');
    await running.stop();
    running = await start(running.home);
    await work('second');
    expect(violations()).toEqual([]);
  });

  it.each([
    ['"$JS.API.STREAM.MSG.DELETE.*"', '$JS.API.STREAM.MSG.DELETE.bus-journal'],
    ['"$JS.API.STREAM.CREATE.*"', '$JS.API.STREAM.CREATE.bus-journal'],
    ['"$JS.API.INFO"', '$JS.API.INFO'],
  ])(
    'is not ready without %s, and the words name it',
    async (withheld, subject) => {
      await startServer(withheld);
      const running = await start();
      expect((await running.fetch('/ready')).status).toBe(503);
      const { problem } = (await running.call('/healthz')).body.bus;
      expect(problem).toContain(`may not publish to ${subject}`);
      expect(problem).toContain('docs/several-machines.md');
      expect(violations().join()).toContain(subject);
    },
    240_000,
  );

  it('is told in the log what it may not do, where work goes on without', async () => {
    await startServer('subscribe: ["bus.>", "bus-present.*"');
    const running = await start();
    expect((await running.fetch('/ready')).status).toBe(200);
    await waitFor(() => running.log.some((line) => line.includes('may not subscribe to bus-present.')));
  });
});
