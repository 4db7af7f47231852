import {
  type ChatRequestBody,
  describeWithBrowser,
  type ScriptedReply,
  withoutFence,
} from '@trunkline/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { hasLocalVoices } from '../apps/voice/cases/harness/local-voices.suite.ts';
import { wordError } from '../apps/voice/speech/word-error.suite.ts';
import { uploadPages } from './load/research.ts';
import { openStage, type Stage } from './spoken-call.ts';

const question = 'When does the museum open on Sundays?';
const answer =
  'The museum opens early in the morning, and it closes late in the evening on every day of the week.';
const wish = 'Please do some research about the old bridge.';
const promise = 'I will come back to you when the report is ready.';
const finding =
  'The old bridge was built by the farmers of the village, who carried every stone across the river.';
const files = {
  'bridge.md': `${finding} The bridge stands until today. Nobody knows how old the bridge is.`,
};

const installed = await hasLocalVoices();

describeWithBrowser('journey 1', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage(reply, 'kokoro');
  });
  afterAll(() => stage.close());

  it.skipIf(!installed)(
    'a new user starts it, speaks, hears an answer that took a tool, asks for research and later hears the result [V001][V009]',
    { timeout: 420_000 },
    async () => {
      const { fleet, model } = stage;
      const words = { question: await stage.spoken(question), wish: await stage.spoken(wish) };
      await fleet.start();
      await uploadPages(fleet.urls.research, files);
      const call = await stage.call();

      await call.say(words.question);
      const first = await call.hears(/day of the week/);
      // Words that fill a pause may come before the answer.
      const heard = first.slice(first.toLowerCase().indexOf('the museum'));
      expect(wordError([answer], [heard]), first).toBeLessThanOrEqual(0.1);
      expect((await toolCalls()).current_time).toBeGreaterThan(0);

      await call.say(words.wish);
      expect(await call.hears(/when the report is ready/)).toMatch(/report is ready/i);
      expect(await jobs()).toMatchObject([{ status: 'running' }]);

      // Nobody speaks while the research goes on.
      model.release();
      const result = await call.hears(/research says: .*across the river/i);
      expect(wordError([`research says ${finding}`], [result]), result).toBeLessThanOrEqual(0.1);
      expect(await jobs()).toMatchObject([{ status: 'complete' }]);
      expect((await call.said('you')).join(' ')).toMatch(/museum.*research/is);
      expect(call.problems).toEqual([]);
    },
  );

  async function jobs(): Promise<unknown[]> {
    const response = await fetch(`${stage.fleet.urls.research}/api/research`);
    return ((await response.json()) as { jobs: unknown[] }).jobs;
  }

  async function toolCalls(): Promise<Record<string, number>> {
    const response = await fetch(`${stage.fleet.urls.voice}/api/metrics`);
    return ((await response.json()) as { tool_calls_by_name: Record<string, number> }).tool_calls_by_name;
  }
});

/** The model of all four services: it answers the caller, and does the thinking of the research app. */
function reply(request: ChatRequestBody): ScriptedReply {
  const system = String(request.messages[0]?.content ?? '');
  const asked = JSON.stringify(withoutFence(request.messages.at(-1)?.content ?? ''));
  const part = researching.find(([beginning]) => system.startsWith(beginning));
  return part?.[1](asked) ?? spokenReply(request, asked);
}

function spokenReply({ messages }: ChatRequestBody, asked: string): ScriptedReply {
  const isMuseum = !messages.some(
    ({ role, content }) => role === 'user' && /research/i.test(String(content)),
  );
  if (messages.at(-1)?.role === 'tool') {
    if (isMuseum) return answer;
    return asked.includes('still at it') ? promise : `It said ${asked}`;
  }
  if (isMuseum) return { toolCalls: [{ name: 'current_time', arguments: {} }] };
  const order = { target: 'research', query: 'Who built the old bridge?' };
  return { toolCalls: [{ name: 'delegate_to', arguments: order }] };
}

const dimensions = ['Builders of the bridge', 'Stones of the bridge', 'Age of the bridge'];
const plan = {
  dimensions: dimensions.map((name) => ({ name, queries: [name.toLowerCase()] })),
};
const researching: [beginning: string, (asked: string) => ScriptedReply][] = [
  // The research goes on when the test says so.
  ['You plan research', () => ({ fault: 'stall', answer: JSON.stringify(plan) })],
  ['You sum up', () => JSON.stringify({ summary: 'What the sources say.', keyFinding: 'The main point.' })],
  ['You judge whether', () => JSON.stringify({ gaps: [] })],
  ['You write one part', (asked) => `${sentenceOf(asked)}. [1]`],
  ['You tell someone by voice', (asked) => `${sentenceOf(asked)}.`],
];

/** What stands in the user's own file, taken from what the model is shown. */
function sentenceOf(asked: string): string {
  return /The old bridge was built [^.[]+/.exec(asked)?.[0] ?? 'Nothing was found';
}
