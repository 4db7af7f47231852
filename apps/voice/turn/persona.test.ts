import { createModelGateway } from '@trunkline/llm';
import { startModelServer } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { type Persona, runPersona } from './persona.ts';

it('books what a turn costs for whoever asked', async () => {
  const server = await startModelServer({ script: ['Hello.'] });
  onTestFinished(() => server.stop());
  const paid: [string, number][] = [];
  const persona = {
    model: createModelGateway({ url: server.url, model: 'gpt-4o', maxRetries: 0 }).languageModel(),
    instructions: '',
    tools: [],
    principal: { kind: 'person', id: 'voice:ava', via: [] },
    policy: {
      agent: 'voice',
      decide: () => ({ decision: 'allow', rule: '', why: '' }),
      pay: ({ id }: { id: string }, _: string, usd: number) => paid.push([id, usd]),
    },
  } as unknown as Persona;
  const messages = [{ role: 'user' as const, content: 'Hi' }];
  const { signal } = new AbortController();
  for await (const _ of runPersona(persona, { messages, sessionId: 's', signal }));
  expect(paid).toEqual([['voice:ava', expect.any(Number)]]);
  expect(paid[0]?.[1]).toBeGreaterThan(0);
});
