import {
  anonymous,
  decodePrincipal,
  type OperatorAccess,
  type Principal,
  principalHeader,
} from '@trunkline/identity';
import { bearerToken, type HeaderReader, operatorHeader } from './credentials.ts';
import { createKeyring } from './keyring.ts';

/** How requests are told apart before any guard of the service looks at them. */
export interface AccessOptions {
  operator: OperatorAccess;
  /** The token that our own services show each other. */
  serviceToken?: string | undefined;
}

export const sessionCookie = 'trunkline_operator';

/**
 * Gives the principal that a request proves by itself: the operator, or whoever one of our services asks for.
 * Everybody else is anonymous until a guard of the service finds their key.
 */
export function createIdentify({
  operator,
  serviceToken,
}: AccessOptions): (request: HeaderReader) => Principal {
  const services = createKeyring([{ key: serviceToken, caller: true }]);
  return (request) => {
    const keys = [request.header(operatorHeader), bearerToken(request), request.header('x-api-key')?.trim()];
    const presented = keys.filter((key) => key !== undefined && key !== '') as string[];
    if (presented.some((key) => operator.isKey(key)) || hasSession(request, operator))
      return operatorInPerson;
    if (presented.some((key) => services.find(key) === true)) return handedOnPrincipal(request);
    return anonymous;
  };
}

const operatorInPerson: Principal = { kind: 'operator', id: 'operator', via: [] };

/** Without a header that names somebody, a service asks for nobody: it never lends its own rights. */
function handedOnPrincipal(request: HeaderReader): Principal {
  const principal = decodePrincipal(request.header(principalHeader) ?? '');
  return principal !== undefined && principal.via.length > 0
    ? principal
    : { ...anonymous, via: ['a service'] };
}

/** A cookie counts for our own pages only: browsers send it along for pages of other ports too. */
function hasSession(request: HeaderReader, operator: OperatorAccess): boolean {
  const cookies = request.header('cookie');
  if (cookies === undefined) return false;
  const site = request.header('sec-fetch-site');
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false;
  return cookies
    .split(';')
    .map((cookie) => cookie.trim())
    .some(
      (cookie) =>
        cookie.startsWith(`${sessionCookie}=`) && operator.isSession(cookie.slice(sessionCookie.length + 1)),
    );
}
