import { InputRequired } from '@trunkline/llm';
import { describe, expect, it } from 'vitest';
import { inputRequired, readAnswer } from './elicitation.ts';

function answered(properties: object, text: string) {
  const message = 'Delete 40 files?';
  const { schema } = inputRequired('disk', { message, schema: { type: 'object', properties } });
  try {
    return readAnswer('disk', { text, schema });
  } catch (error) {
    expect(error).toBeInstanceOf(InputRequired);
    return (error as InputRequired).message;
  }
}

describe('a question without fields', () => {
  it.each([
    ['yes', { action: 'accept', content: {} }],
    ['Yes please!', { action: 'accept', content: {} }],
    ['{}', { action: 'accept', content: {} }],
    ['no', { action: 'decline' }],
    ['No thanks.', { action: 'decline' }],
    ['stop', { action: 'decline' }],
    ['Decline.', { action: 'decline' }],
    ['cancel', { action: 'cancel' }],
    ['what?', expect.stringMatching(/^That does not fit: answer yes or no\n.*Delete 40 files\?/)],
  ])('%s', (text, expected) => expect(answered({}, text)).toEqual(expected));
});

describe('a question of one truth value', () => {
  it.each([
    ['yes please', { action: 'accept', content: { sure: true } }],
    ['no', { action: 'accept', content: { sure: false } }],
    ['perhaps', expect.stringMatching(/^That does not fit/)],
  ])('%s', (text, expected) => expect(answered({ sure: { type: 'boolean' } }, text)).toEqual(expected));
});
