import { createModelGateway } from '@trunkline/llm';
import { startModelServer } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { defaultUser } from '../users/user.ts';
import { type Persona, type PersonaDeps, runPersona, snapshotPersona } from './persona.ts';

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

it.each([
  ['es', undefined, /The person speaks Spanish: answer in it/],
  ['pt-BR', undefined, /The person speaks Brazilian Portuguese/],
  // A skill with a language speaks its own.
  ['es', 'fr', /^((?!The person speaks).)*$/s],
  [undefined, undefined, /^((?!The person speaks).)*$/s],
  // The caller's choice for this call comes before what is known of the user.
  ['es', undefined, /The person speaks Italian/, 'it'],
  ['es', 'fr', /^((?!The person speaks).)*$/s, 'it'],
  ['es', undefined, /The person speaks Spanish/, 'no code'],
])('tells the model what a user speaks: %s, skill %s', (language, lang, expected, chosen?: string) => {
  const skill = { slug: 'default', systemPrompt: 'You are a test.', behavior: {}, lang };
  const deps = {
    selection: { snapshot: () => skill },
    preferences: { verbosityOf: () => undefined },
    modelFor: () => undefined,
    toolsFor: () => [],
    verbosity: 'brief',
  } as unknown as PersonaDeps;
  const { instructions } = snapshotPersona(
    { ...defaultUser, language },
    { kind: 'person', id: 'a', via: [] },
    deps,
    { language: chosen },
  );
  expect(instructions).toMatch(expected);
});
