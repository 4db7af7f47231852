import { expect, it } from 'vitest';
import type { ModelStep } from '../model-step.ts';
import { answerOf } from './answer.ts';

const stepWith = (...mediaTypes: string[]) => {
  const content = mediaTypes.map((mediaType) => ({ type: 'file', mediaType, data: 'aGk=' }));
  return { messages: [{ role: 'assistant', content }], citations: [] } as unknown as ModelStep;
};

it('names the files that a model made by their media type, whatever that says', async () => {
  const names: string[] = [];
  const store = async (file: { name: string; mediaType: string }) => {
    names.push(file.name);
    return { id: file.name, size: 2, ...file };
  };
  const step = stepWith('image/jpeg', 'image/constructor', 'image/svg+xml');
  await answerOf(step, { store } as never, 0);
  expect(names).toEqual(['image-1.jpg', 'image-2.constructor', 'image-3.svg']);
});

it('says in plain words where to ask for a file that cannot be handed on', async () => {
  const { problems } = await answerOf(stepWith('image/png'), undefined, 0);
  expect(problems).toEqual([
    'The model made image-1.png, but it could not be kept: files cannot be handed on here. Ask for it in the chat of the agent.',
  ]);
});
