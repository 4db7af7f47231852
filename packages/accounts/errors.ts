import { defineErrors } from '@trunkline/http';

export const accountErrors = defineErrors({
  account_unknown: [
    404,
    (given: { id: string }) => `There is no account ${given.id}. "npx trunkline users list" shows all.`,
  ],
  account_name: [
    400,
    'The name of an account has 1 to 80 characters and no line breaks or control characters.',
  ],
  account_disabled: [
    403,
    (account: { name: string }) =>
      `The account ${account.name} is disabled. Ask the operator to enable it on the page "Trust", or with "npx trunkline users enable".`,
  ],
  account_removed: [401, 'This account was removed. Ask the operator for a new one.'],
  account_key: [401, 'This key of an account is not known, or was revoked. Ask the operator for a new one.'],
  account_last_owner: [
    409,
    (account: { name: string }) =>
      `${account.name} is the only owner whose account is enabled. Make somebody else owner first.`,
  ],
  account_limit: [
    409,
    (limit: { what: string; most: number }) =>
      `There are ${limit.most} ${limit.what} already, and no more fit. Remove some that nobody uses.`,
  ],
  owner_required: [
    403,
    'Only an owner, or whoever holds the operator key, may change the accounts of owners and operators or appoint one.',
  ],
  identity_invalid: [
    400,
    (given: { identity: string }) =>
      `${JSON.stringify(given.identity)} is no identity. Write who knows the person, a colon, and the name there: "discord:1234", "mail:ava@example.com", "voice:ava".`,
  ],
  identity_linked: [
    409,
    (given: { identity: string; name: string }) =>
      `${given.identity} belongs to the account ${given.name}. Unlink it there first.`,
  ],
  identity_unknown: [404, (given: { identity: string }) => `${given.identity} belongs to no account.`],
  key_unknown: [404, (given: { keyId: string }) => `There is no key ${given.keyId}.`],
  program_unknown: [
    404,
    (given: { programId: string }) => `There is no connected program ${given.programId}.`,
  ],
  pairing_unknown: [
    404,
    'No open request has this code. Codes are valid for an hour; ask the person to write again for a new one.',
  ],
  pairing_attempts: [429, 'Too many wrong codes. Wait a minute and try again.'],
});
