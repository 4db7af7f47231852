export const HIDDEN = '[redacted]';

/** The secrets to hide. It may grow while the program runs: what is added is hidden from then on. */
export type Secrets = readonly string[] | ReadonlySet<string>;

// Shorter ones occur in ordinary words: hiding them would spoil the text and give them away.
const SHORTEST_SECRET = 3;

const CREDENTIALS_IN_URL = /:\/\/[^\s/?#"'<>\\]+@/g;
const CREDENTIALS_IN_QUERY =
  /([?&](?:api[_-]?key|key|access[_-]?token|token|secret|client[_-]?secret|password|signature|sig)=)[^\s&#"'<>\\]+/gi;
const CREDENTIALS_IN_HEADER = /\b((?:bearer|basic)\s+)[\w.~+/=-]{16,}/gi;

/** Makes a function that hides every occurrence of a secret, and what looks like one, in a text. */
export function createTextHider(secrets: Secrets): (text: string) => string {
  let count = -1;
  let spellings: string[] = [];
  return (text) => {
    if (count !== sizeOf(secrets)) {
      count = sizeOf(secrets);
      spellings = spellingsOf(secrets);
    }
    return hidePatterns(hideSpellings(text, spellings));
  };
}

function sizeOf(secrets: Secrets): number {
  return 'size' in secrets ? secrets.size : secrets.length;
}

// A secret also shows up percent-encoded in addresses and escaped inside JSON.
function spellingsOf(secrets: Secrets): string[] {
  const long = [...secrets].filter((secret) => secret.trim().length >= SHORTEST_SECRET);
  const all = long.flatMap((secret) => [
    secret,
    encodeURIComponent(secret.toWellFormed()),
    jsonSpelling(secret),
  ]);
  return [...new Set(all)];
}

function jsonSpelling(secret: string): string {
  return JSON.stringify(secret).slice(1, -1);
}

// Secrets may overlap in the text, so all places are found first and hidden together.
function hideSpellings(text: string, spellings: readonly string[]): string {
  const spans = spellings.flatMap((spelling) => spansOf(text, spelling));
  if (spans.length === 0) return text;
  let result = '';
  let end = 0;
  for (const [from, to] of spans.sort((left, right) => left[0] - right[0])) {
    if (from >= end) result += text.slice(end, from) + HIDDEN;
    end = Math.max(end, to);
  }
  return result + text.slice(end);
}

function spansOf(text: string, spelling: string): [from: number, to: number][] {
  const spans: [number, number][] = [];
  for (let from = text.indexOf(spelling); from !== -1; from = text.indexOf(spelling, from + 1)) {
    spans.push([from, from + spelling.length]);
  }
  return spans;
}

function hidePatterns(text: string): string {
  return text
    .replace(CREDENTIALS_IN_URL, `://${HIDDEN}@`)
    .replace(CREDENTIALS_IN_QUERY, `$1${HIDDEN}`)
    .replace(CREDENTIALS_IN_HEADER, `$1${HIDDEN}`);
}
