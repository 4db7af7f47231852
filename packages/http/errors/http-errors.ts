import { defineErrors } from './catalogue.ts';

/** The failures the kit itself raises. Services match on the code where their contract asks for other words. */
export const httpErrors = defineErrors({
  route_not_found: [
    404,
    (request: { method: string; path: string }) => `There is nothing at ${request.method} ${request.path}.`,
  ],
  method_not_allowed: [
    405,
    (request: { method: string; path: string; allowed: readonly string[] }) =>
      `${request.path} does not take ${request.method}. Use ${request.allowed.join(' or ')}.`,
  ],
  body_too_large: [
    413,
    (limit: { bytes: number }) => `The body is larger than the ${limit.bytes} bytes allowed here.`,
  ],
  unauthenticated: [401, 'A key is missing or unknown.'],
  forbidden: [403, 'This key does not allow that.'],
  origin_not_allowed: [
    403,
    (request: { origin: string }) =>
      request.origin === ''
        ? 'The request names no Origin, and this address takes only listed ones.'
        : `The origin ${request.origin} is not allowed here.`,
  ],
  foreign_page: [
    403,
    (request: { origin: string }) =>
      `A page of ${request.origin} may not change anything here while no key is set; set one, or open the page by the address of this machine.`,
  ],
  foreign_name: [
    403,
    (request: { name: string }) =>
      `While no key is set, this service answers to addresses and names of the local network, not to ${request.name}; set a key, or put the name into ALLOWED_HOSTS.`,
  ],
  cross_site_refused: [403, 'A page of another site may not change anything here.'],
  client_closed: [499, 'The client went away before the answer was ready.'],
  internal: [
    500,
    (request: { requestId: string }) =>
      `Something failed inside the service. The log has the cause under request id ${request.requestId}.`,
  ],
  pages_not_built: [
    503,
    'The web pages of this service are not built. Build them, or start the service through its own command, which does.',
  ],
});
