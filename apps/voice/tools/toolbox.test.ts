import { defineTool, interruptionOf, type Tool } from '@trunkline/llm';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { type Skill, skillFileSchema } from '../skills/skill.ts';
import { defaultUser } from '../users/user.ts';
import { createToolbox } from './toolbox.ts';

const drop = () => undefined;
const logger = { debug: drop, info: drop, warn: drop, error: drop, child: () => logger };
const tool = (name: string, effect: 'reads' | 'writes') =>
  defineTool({
    name,
    description: name,
    effects: [effect],
    input: z.object({}),
    execute: async () => name,
  }) as Tool;

it('lets a skill say what an interruption does to its tools', () => {
  const { behavior = {} } = skillFileSchema.parse({
    behavior: { interruptions: { book: 'hold', search: 'finish' } },
  });
  const skill: Skill = {
    slug: 's',
    name: 's',
    description: '',
    systemPrompt: '',
    behavior,
    llm: {},
    viz: {},
  };
  const all = [tool('book', 'writes'), tool('search', 'reads'), tool('read', 'reads'), tool('pay', 'writes')];
  const toolsFor = createToolbox({ sources: [() => all], onCall: drop, logger });
  const found = toolsFor(skill, defaultUser).map((each) => [each.name, !each.pause && interruptionOf(each)]);
  expect(Object.fromEntries(found)).toEqual({
    book: 'hold',
    search: 'finish',
    read: 'cancel',
    pay: 'finish',
  });
  const misspelt = skillFileSchema.safeParse({ behavior: { interruptions: { book: 'keep' } } });
  expect(misspelt.success).toBe(false);
});
