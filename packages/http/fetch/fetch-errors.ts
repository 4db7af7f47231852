import { defineErrors } from '../errors/http-error.ts';

/** Why an address that someone supplied was not fetched. */
export const fetchErrors = defineErrors({
  url_invalid: [400, (given: { url: string }) => `"${given.url}" is not a web address.`],
  url_scheme_refused: [
    400,
    (given: { protocol: string }) =>
      `Only http and https addresses can be fetched, not ${given.protocol.replace(/:$/, '')}.`,
  ],
  url_credentials_refused: [400, 'The address holds a user name or password. Give it without them.'],
  address_refused: [
    400,
    (target: { host: string; kind: string }) =>
      `${target.host} leads to ${target.kind}. Only public addresses can be fetched; the operator can open others with FETCH_ALLOWED_HOSTS or FETCH_ALLOWED_CIDRS.`,
  ],
  host_unresolved: [400, (target: { host: string }) => `No address is known for the host ${target.host}.`],
  redirects_exceeded: [
    502,
    (limit: { count: number }) => `The address redirected more than ${limit.count} times.`,
  ],
  redirect_invalid: [502, 'The address redirected to something that is not a web address.'],
  redirect_refused: [
    403,
    (target: { url: string }) =>
      `The address redirects to ${target.url}, which this request may not read. Ask for that address itself.`,
  ],
  response_too_large: [502, (limit: { bytes: number }) => `The answer is larger than ${limit.bytes} bytes.`],
  fetch_timeout: [
    504,
    (target: { host: string; ms: number }) =>
      `${target.host} did not finish its answer within ${target.ms} ms.`,
  ],
  fetch_failed: [
    502,
    (target: { host: string; reason: string }) => `${target.host} could not be fetched: ${target.reason}.`,
  ],
  cidr_invalid: [
    500,
    (given: { cidr: string }) =>
      `"${given.cidr}" is not an address block. Write it like 10.0.0.0/8 or fd00::/8.`,
  ],
});
