import type { LateAnswers } from '../delegates/a2a-delegate.ts';
import type { CallbackTokens } from './callback-tokens.ts';

/** Lets delegates that take long bring their answer to the callback. */
export function createLateAnswers(callbackUrl: string, tokens: CallbackTokens) {
  return (userId: string, delegate: string): LateAnswers => ({
    open: () => ({ url: callbackUrl, token: tokens.issue(userId, delegate) }),
    answered: (token) => tokens.update(token, { state: 'answered' }),
    missed(token) {
      const pushed = tokens.find(token)?.text;
      tokens.update(token, { state: pushed === undefined ? 'late' : 'answered' });
      return pushed;
    },
  });
}
