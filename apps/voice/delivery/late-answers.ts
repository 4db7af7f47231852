import { questionKey } from '@trunkline/tools';
import type { LateAnswers } from '../delegates/a2a-delegate.ts';
import type { CallbackTokens } from './callback-tokens.ts';

/** An agent that has brought nothing in this time may be asked again. */
const expectedForMs = 30 * 60 * 1000;

/** Lets delegates that take long bring their answer to the callback, where they can reach it. */
export function createLateAnswers(callbackUrl: () => string | undefined, tokens: CallbackTokens) {
  return (userId: string, delegate: string): LateAnswers | undefined => {
    const url = callbackUrl();
    if (url === undefined) return undefined;
    return {
      open: () => ({ url, token: tokens.issue(userId, delegate) }),
      answered: (token) => tokens.update(token, { state: 'answered' }),
      missed(token) {
        const pushed = tokens.find(token)?.text;
        tokens.update(token, { state: pushed === undefined ? 'late' : 'answered' });
        return pushed;
      },
      expect(token, query) {
        const until = Date.now() + expectedForMs;
        tokens.update(token, { expected: { question: questionKey(query), until } });
      },
      isExpected: (query) => tokens.isExpected(userId, delegate, questionKey(query)),
    };
  };
}
