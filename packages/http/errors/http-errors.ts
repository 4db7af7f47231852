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
  body_type: [
    415,
    (body: { given: string; wanted: string }) =>
      `The body is ${body.given === '' ? 'of no named type' : body.given}. Send it with the header "Content-Type: ${body.wanted}".`,
  ],
  operator_required: [
    403,
    (request: { keyFile: string }) =>
      `This needs the operator's key. In a browser, open the link that "npx trunkline login" prints; in a program, send the key of ${request.keyFile} as "Authorization: Bearer". TRUNKLINE_OPEN=1 turns this off on a throw-away machine.`,
  ],
  operator_code: [401, 'This link was used already or has expired. Run "npx trunkline login" for a new one.'],
  operator_key: [
    401,
    (request: { keyFile: string }) => `This is not the operator's key. It stands in ${request.keyFile}.`,
  ],
  operator_attempts: [429, 'Too many wrong keys. Wait a minute and try again.'],
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
      `A page of ${request.origin} may not change anything here. Open the page of this service itself; behind a proxy, let it pass the Host header on, or set the public URL of the service.`,
  ],
  foreign_name: [
    403,
    (request: { name: string }) =>
      `While no key is set, this service answers to addresses and names of the local network, not to ${request.name}; set a key, or put the name into ALLOWED_HOSTS.`,
  ],
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
