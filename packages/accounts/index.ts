export { type Account, type AccountKey, type ListedPerson, nameOnSurface, principalOf } from './account.ts';
export { Accounts, type AccountsOptions, accountsFile, openAccounts } from './accounts.ts';
export { accountErrors } from './errors.ts';
export type { Pairing } from './pairings.ts';
export type { ConnectedProgram, Programs, ProgramTokens } from './programs.ts';
export { mountAccounts } from './routes.ts';
export { createSenders, type Sender, type Senders } from './senders.ts';
