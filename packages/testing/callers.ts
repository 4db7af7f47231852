import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodePrincipal, type Principal, principalHeader } from '@trunkline/identity';

export interface Answer {
  status: number;
  text: string;
  /** The body as JSON. */
  json<Body>(): Body;
}

export interface TestCaller {
  readonly headers: Record<string, string>;
  (request: string, body?: unknown): Promise<Answer>;
}

/** A user of voice for whom it asks. */
export function person(id: string, role?: Principal['role']): Principal {
  return { kind: 'person', id: `voice:${id}`, via: ['voice'], ...(role && { role }) };
}

/** What a service knows of others where none runs beside it: the token by which they would know each other. */
export function noPeers(serviceToken = 'secret-between-services') {
  return {
    serviceToken,
    agentName: 'agent',
    find: () => undefined,
    namesWithKey: () => [],
    onChange: () => undefined,
  };
}

/** Two people, the operator and nobody, as callers of a service: `ava('GET /api/files')`. */
export function callersOf({ url, home, serviceToken }: { url: string; home: string; serviceToken: string }) {
  const caller = (headers: Record<string, string>): TestCaller =>
    Object.assign((request: string, body?: unknown) => ask(url, request, headers, body), { headers });
  const as = (principal: Principal) =>
    caller({ authorization: `Bearer ${serviceToken}`, [principalHeader]: encodePrincipal(principal) });
  return {
    as,
    ava: as(person('ava')),
    bob: as(person('bob')),
    operator: caller({ 'x-operator-key': readFileSync(join(home, 'operator-key'), 'utf8').trim() }),
    nobody: caller({}),
  };
}

async function ask(
  url: string,
  request: string,
  headers: Record<string, string>,
  body: unknown,
): Promise<Answer> {
  const [method = '', path = ''] = request.split(' ');
  const isForm = body instanceof FormData;
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { ...headers, ...(body !== undefined && !isForm && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, text, json: () => JSON.parse(text) };
}
