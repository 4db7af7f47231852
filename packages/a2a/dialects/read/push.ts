import { invalidParams } from '../../errors/a2a-error.ts';
import { field, type JsonObject, optionalId, optionalObject, optionalText } from './values.ts';

/** A webhook as a caller described it. */
export interface PushTarget {
  id?: string;
  url: string;
  token?: string;
  /** How the token is announced in the Authorization header. */
  scheme: string;
}

/** Of both token forms the top-level one wins. */
export function readPushTarget(config: JsonObject): PushTarget {
  const url = optionalText(config, 'url');
  if (url === undefined) throw invalidParams('the push notification config has no url');
  const id = optionalId(config, 'id');
  const topLevel = optionalText(config, 'token');
  const structured = optionalObject(config, 'authentication') ?? {};
  const token = topLevel ?? optionalText(structured, 'credentials');
  return {
    url,
    scheme: topLevel === undefined ? schemeOf(structured) : 'Bearer',
    ...(id !== undefined && { id }),
    ...(token !== undefined && { token: headerSafe(token) }),
  };
}

/** The config inside the params: on its own, or wrapped as the versions and their REST forms have it. */
export function findPushConfig(params: JsonObject): JsonObject {
  const outer = optionalObject(params, 'config') ?? params;
  return optionalObject(outer, 'pushNotificationConfig') ?? outer;
}

function schemeOf(authentication: JsonObject): string {
  const single = optionalText(authentication, 'scheme');
  const several = field(authentication, 'schemes');
  const scheme = single ?? (Array.isArray(several) ? several[0] : undefined) ?? 'Bearer';
  if (typeof scheme === 'string' && /^[A-Za-z][A-Za-z0-9-]*$/.test(scheme)) return properCase(scheme);
  throw invalidParams('authentication.scheme must be the name of an HTTP authentication scheme');
}

/** Receivers compare the word as the standard writes it. */
function properCase(scheme: string): string {
  return scheme.toLowerCase() === 'bearer' ? 'Bearer' : scheme;
}

function headerSafe(token: string): string {
  if (/^[\x21-\x7e][\x20-\x7e]*$/.test(token)) return token;
  throw invalidParams('the token of a push notification config may hold printable ASCII only');
}
