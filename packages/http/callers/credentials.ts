export type CredentialPlace = 'x-api-key' | 'bearer';

/** Where the operator's key may stand beside the key of a service. */
export const operatorHeader = 'x-operator-key';

const KEY_PLACES = ['x-api-key', operatorHeader, 'x-a2a-notification-token'];

const KEY_HEADERS = [...KEY_PLACES, 'authorization'];

export interface HeaderReader {
  header(name: string): string | undefined;
}

/** The key in the first place that the request fills. */
export function presentedKey(request: HeaderReader, places: readonly CredentialPlace[]): string | undefined {
  for (const place of places) {
    const key = place === 'bearer' ? bearerToken(request) : request.header('x-api-key')?.trim();
    if (key !== undefined && key !== '') return key;
  }
  return undefined;
}

/** Whether a key stands in a header, right or wrong. */
export function hasCredentials(request: HeaderReader): boolean {
  return ['authorization', 'x-api-key', operatorHeader].some((name) => request.header(name) !== undefined);
}

/** Every different key in the headers, wherever a guard may look for it. */
export function shownKeys(request: HeaderReader): string[] {
  const keys: string[] = [];
  const add = (key: string | undefined) => {
    if (key && !keys.includes(key)) keys.push(key);
  };
  for (const place of KEY_PLACES) add(request.header(place)?.trim());
  add(bearerToken(request) ?? request.header('authorization')?.trim());
  return keys;
}

/** Whether there is any such key. */
export function showsKey(request: HeaderReader): boolean {
  for (const place of KEY_HEADERS) if (request.header(place)?.trim()) return true;
  return false;
}

export function bearerToken(request: HeaderReader): string | undefined {
  const header = request.header('authorization');
  return header === undefined ? undefined : /^bearer +(\S+) *$/i.exec(header)?.[1];
}

/** What the 401 answer names as the ways in. */
export function challenge(places: readonly CredentialPlace[]): string {
  return places.map((place) => (place === 'bearer' ? 'Bearer' : 'ApiKey header="X-API-Key"')).join(', ');
}
