import { defineErrors } from '@trunkline/http';

const keyStillWorks = 'Signing in with a key still works.';

/** Why nobody was signed in. They are shown on a page, to the person who tried. */
export const oidcErrors = defineErrors({
  oidc_unreachable: [
    502,
    (given: { name: string; issuer: string; reason: string }) =>
      `${given.name} cannot be reached at ${given.issuer}: ${given.reason}. Try again in a moment. ${keyStillWorks} If it stays like this, let the operator check OIDC_ISSUER with "npx trunkline doctor".`,
  ],
  oidc_client_refused: [
    502,
    (given: { name: string; reason: string }) =>
      `${given.name} does not accept this service: ${given.reason}. Let the operator check OIDC_CLIENT_ID and OIDC_CLIENT_SECRET, and that the address of the callback is registered there. ${keyStillWorks}`,
  ],
  oidc_denied: [
    401,
    (given: { name: string; reason: string }) =>
      `${given.name} did not sign you in: ${given.reason}. Try again. ${keyStillWorks}`,
  ],
  oidc_expired: [
    401,
    'This sign-in took too long, was used already, or began in another browser or on another page. Start again.',
  ],
  oidc_invalid: [
    401,
    (given: { name: string; reason: string }) =>
      `The answer of ${given.name} does not belong to this sign-in or cannot be trusted (${given.reason}), so nobody was signed in. Start again; if it stays like this, let the operator check OIDC_ISSUER and OIDC_CLIENT_ID.`,
  ],
  oidc_unknown_person: [
    403,
    (given: { name: string; identity: string; mail: string }) =>
      `${given.name} knows you, but you have no account here. Ask the operator to add you on the page "Trust", under People, with the identity ${given.identity}${given.mail}. Then sign in again.`,
  ],
});
