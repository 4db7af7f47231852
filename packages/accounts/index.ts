export { type Account, type ListedPerson, nameOnSurface, principalOf } from './account.ts';
export { Accounts, accountsFile, openAccounts } from './accounts.ts';
export type { ConnectedProgram } from './programs.ts';
export { mountAccounts } from './routes.ts';
export { createSenders, type Sender, type Senders } from './senders.ts';
