/** The IANA zone of this browser, read anew: a laptop travels. */
export function browserTimezone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** All zones that this browser knows by name, its own and UTC among them. */
export function knownTimezones(): string[] {
  return [...new Set([browserTimezone(), 'UTC', ...Intl.supportedValuesOf('timeZone')])];
}
