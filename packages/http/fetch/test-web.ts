import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { HttpError } from '../errors/http-error.ts';
import type { Lookup } from './address-policy.ts';
import { createGuardedFetch, type GuardedFetchOptions } from './guarded-fetch.ts';

/** A web server on loopback, as the private thing that must not be reached, or the public one once it is allowed. */
export async function startWeb(listener: RequestListener) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, requests };
}

export const text =
  (body: string): RequestListener =>
  (_request, response) =>
    void response.end(body);
export const open = (options: GuardedFetchOptions = {}) =>
  createGuardedFetch({ allowedHosts: ['127.0.0.1'], ...options });

export async function failure(promise: Promise<unknown>): Promise<HttpError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof HttpError) return error;
    throw error;
  }
  throw new Error('expected a failure');
}

export const code = async (promise: Promise<unknown>) => (await failure(promise)).code;

/** Answers each question with the next list of addresses, and the last one from then on. */
export function lookupOf(...answers: string[][]) {
  let asked = 0;
  const lookup: Lookup = async () => {
    const addresses = answers[Math.min(asked, answers.length - 1)] ?? [];
    asked += 1;
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  };
  return { lookup, asked: () => asked };
}
