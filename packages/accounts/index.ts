export {
  type Account,
  type AccountKey,
  Accounts,
  type AccountsOptions,
  accountsFile,
  type ListedPerson,
  openAccounts,
  principalOf,
} from './accounts.ts';
export { accountErrors } from './errors.ts';
export type { Pairing } from './pairings.ts';
