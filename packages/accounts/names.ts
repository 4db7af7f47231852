import { accountErrors } from './errors.ts';

const MAX_LENGTH = 80;
const MAX_IDENTITY = 300;
/** Control characters, line breaks, and what turns the direction of a text. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

export function checkName(name: string): string {
  const trimmed = name.trim();
  if (trimmed === '' || trimmed.length > MAX_LENGTH || trimmed.search(UNPRINTABLE) !== -1)
    throw accountErrors.account_name();
  return trimmed;
}

/** Mail addresses count in lower case. */
export function normalIdentity(identity: string): string {
  return identity.startsWith('mail:') ? identity.toLowerCase() : identity;
}

export function checkIdentity(identity: string): string {
  if (
    identity.length > MAX_IDENTITY ||
    !/^[a-z][a-z0-9_-]*:[^\s\p{C}](?:[^\p{C}]*[^\s\p{C}])?$/u.test(identity)
  )
    throw accountErrors.identity_invalid({ identity: identity.slice(0, 100) });
  return normalIdentity(identity);
}

/** What others chose, such as a display name, as one line. */
export function plainText(text: string): string {
  return text.replace(UNPRINTABLE, ' ').trim().slice(0, MAX_LENGTH);
}
