import type { LateAnswers } from '../delegates/a2a-delegate.ts';
import type { CallbackTokens } from './callback-tokens.ts';

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
    };
  };
}
