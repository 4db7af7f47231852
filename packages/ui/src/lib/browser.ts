// Text kept in the browser. Where storage is closed to the page (private windows), it lasts until the page is left.
const remembered = new Map<string, string>();

export function readStored(name: string): string | null {
  try {
    return localStorage.getItem(name) ?? remembered.get(name) ?? null;
  } catch {
    return remembered.get(name) ?? null;
  }
}

/** Keeps the text under the name; null forgets it. */
export function writeStored(name: string, value: string | null): void {
  if (value === null) remembered.delete(name);
  else remembered.set(name, value);
  try {
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch {
    // Remembered above for as long as the page lives.
  }
}

/** The IANA zone of this browser, read anew: a laptop travels. */
export function browserTimezone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** All zones that this browser knows by name, its own and UTC among them. */
export function knownTimezones(): string[] {
  return [...new Set([browserTimezone(), 'UTC', ...Intl.supportedValuesOf('timeZone')])];
}

const BYTES = 16;

/** An id that nobody else has; pages on plain HTTP have no randomUUID. */
export function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(BYTES)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}
