export {
  addressRule,
  type Decide,
  decideByDefault,
  type PolicyDecision,
  type PolicyRequest,
} from './decide.ts';
export type { AlwaysEffect, DescriptionHash } from './edit-file.ts';
export { type Consent, type DecidedCall, Policy } from './policy.ts';
export { mountPolicy, type PolicyRoutes } from './routes.ts';
export type { PolicyConfig } from './schema.ts';
export { explainCall } from './try-call.ts';
