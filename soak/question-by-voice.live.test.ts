import {
  type ChatRequestBody,
  describeWithBrowser,
  type ScriptedReply,
  withoutFence,
} from '@trunkline/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { hasLocalVoices } from '../apps/voice/cases/harness/local-voices.suite.ts';
import { wordError } from '../apps/voice/speech/word-error.suite.ts';
import { openStage, type Stage } from './spoken-call.ts';

const order = 'Please ask the agent to paint the garden fence.';
const reply = 'Please tell the agent that green would be nice.';

/** Long enough that one word may be misheard. */
const report = (colour: string) =>
  `The work in the garden took the whole morning, and every wall of the house turned ${colour} before lunch.`;

const installed = await hasLocalVoices();

describeWithBrowser('a question of the agent', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage(modelReply, 'endpoint');
  });
  afterAll(() => stage.close());

  it.skipIf(!installed)(
    'is heard in the call and answered by voice, and the agent goes on with its task',
    { timeout: 300_000 },
    async () => {
      const words = { order: await stage.spoken(order), reply: await stage.spoken(reply) };
      await stage.fleet.start();
      const call = await stage.call();

      await call.say(words.order);
      expect(await call.hears(/which colou?r/i)).toMatch(/which colou?r/i);
      expect(await tasks()).toMatchObject([{ state: 'input-required' }]);

      await call.say(words.reply);
      const heard = await call.hears(/turned green before/);
      expect(heard).toMatch(/green/i);
      expect(wordError([report('green')], [heard]), heard).toBeLessThanOrEqual(0.1);
      expect(await tasks()).toMatchObject([{ state: 'completed' }]);
      expect(call.problems).toEqual([]);
    },
  );

  async function tasks(): Promise<unknown[]> {
    const response = await fetch(`${stage.fleet.urls.agent}/api/tasks`);
    return ((await response.json()) as { tasks: unknown[] }).tasks;
  }
});

/** The agent, which may ask a person, and the voice, which may ask the agent. */
function modelReply({ messages, tools = [] }: ChatRequestBody): ScriptedReply {
  const isAgent = tools.some((tool) => tool.function.name === 'ask_human');
  const said = withoutFence(messages.at(-1)?.content ?? '');
  const isResult = messages.at(-1)?.role === 'tool';
  return isAgent ? agentReply(isResult, said) : voiceReply(isResult, said);
}

function agentReply(isResult: boolean, said: string): ScriptedReply {
  if (isResult) return report(/green/.exec(said)?.[0] ?? 'as it was');
  return { toolCalls: [{ name: 'ask_human', arguments: { question: 'Which colour shall it be?' } }] };
}

function voiceReply(isResult: boolean, said: string): ScriptedReply {
  if (isResult) return said.startsWith('agent asks') ? 'The agent asks: which colour shall it be?' : said;
  const query = /green/i.test(said) ? 'green' : 'Paint the garden fence.';
  return { toolCalls: [{ name: 'delegate_to', arguments: { target: 'agent', query } }] };
}
