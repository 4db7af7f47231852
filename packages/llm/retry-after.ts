/** How long a response asks to wait: `retry-after-ms`, or `retry-after` in seconds or as an HTTP date. */
export function parseRetryAfter(headers: Record<string, string>, now: () => number): number | undefined {
  const milliseconds = positive(headers['retry-after-ms']);
  if (milliseconds !== undefined) return milliseconds;
  const text = headers['retry-after'];
  if (text === undefined) return undefined;
  const seconds = positive(text);
  if (seconds !== undefined) return seconds * 1000;
  // Date.parse also takes odd texts such as "-3" for dates; a real one names its month.
  const date = /[a-z]{3}/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now());
}

function positive(text: string | undefined): number | undefined {
  const value = text === undefined || text.trim() === '' ? Number.NaN : Number(text);
  return Number.isFinite(value) && value >= 0 ? value : undefined;
}
