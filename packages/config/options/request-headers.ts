import { z } from 'zod';
import { isSecretName } from '../secrets/redact.ts';

const name = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Blanks, tabs and what is visible, as Node sends it. */
const value = /^[\t\x20-\x7e\x80-\xff]*$/;
/** They belong to the connection, or say what the body is. */
const ownNames = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
]);
const mostHeaders = 50;
/** Of gateways, beside the names that hold a secret anywhere. */
const secretEnding = /(^|-)(auth|key|session|signature)$/i;

/** Headers that an operator adds to requests. */
export const requestHeaders = z
  .record(
    z
      .string()
      .regex(name, 'a name of a header has letters, digits and dashes')
      .refine((given) => !ownNames.has(given.toLowerCase()), 'this header is set by Trunkline itself'),
    z.string().max(8192).regex(value, 'a header is one line of Latin characters'),
  )
  .refine((headers) => Object.keys(headers).length <= mostHeaders, `at most ${mostHeaders} headers`);

/** What must not be shown of headers: "Bearer" and the name of an app may be. */
export function secretsInHeaders(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).flatMap(([name, given]) => {
    if (!isSecretName(name) && !secretEnding.test(name)) return [];
    const last = given.split(' ').at(-1) ?? '';
    return [given, last].filter((text) => text !== '');
  });
}
