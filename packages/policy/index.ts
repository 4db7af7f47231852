export { type Decide, decideByDefault, type PolicyDecision, type PolicyRequest } from './decide.ts';
export { Policy, type PolicyOptions } from './policy.ts';
export type { PolicyConfig } from './schema.ts';
