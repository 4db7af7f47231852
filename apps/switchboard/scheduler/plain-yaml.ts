/** A value that YAML reads as what it looks like: text, whole number or truth value. */
type Plain = string | number | boolean;
type PlainMap = Record<string, Plain | Record<string, Plain>>;

const line = /^( {2})?([a-zA-Z][a-zA-Z0-9_]*):(?: (.*))?$/;
const startsPlain = /^[a-zA-Z0-9/(\u00c0-\u02ff]/;
/** Printable, and without what begins a comment or a mapping inside a line. */
const holdsOther = /[^\x20-\x7e\u00a1-\u02ff]|: | #|[: ]$/;
const looksTyped = /^(?:[-+.0-9][0-9a-zA-Z.+_-]*|null|true|false)$/i;
const wholeNumber = /^(?:0|[1-9]\d{0,14})$/;

/**
 * Reads the YAML that programs write: one key a line, at most one nested map. Returns undefined for all other texts, which
 * the yaml package reads. It stays because a first start with 10,000 schedules takes the main thread 3.4 s without it and
 * 0.9 s with it (thread CPU, Node 24).
 */
export function readPlainYaml(text: string): PlainMap | undefined {
  const map: PlainMap = {};
  let inner: Record<string, Plain> | undefined;
  for (const row of text.split('\n')) {
    if (row === '') continue;
    const [found, indent, key = '', written] = line.exec(row) ?? [];
    if (found === undefined || looksTyped.test(key)) return undefined;
    const place = indent === undefined ? map : inner;
    if (place === undefined || Object.hasOwn(place, key)) return undefined;
    if (indent === undefined && isEmpty(inner)) return undefined;
    if (written === undefined) {
      if (indent !== undefined) return undefined;
      inner = {};
      map[key] = inner;
      continue;
    }
    const value = readScalar(written);
    if (value === undefined) return undefined;
    place[key] = value;
    if (indent === undefined) inner = undefined;
  }
  return isEmpty(inner) || isEmpty(map) ? undefined : map;
}

function readScalar(written: string): Plain | undefined {
  const quoted = /^(?:"([^"\\]*)"|'([^']*)')$/.exec(written);
  if (quoted !== null) return readQuoted(quoted[1] ?? quoted[2] ?? '');
  if (!startsPlain.test(written) || holdsOther.test(written)) return undefined;
  if (!looksTyped.test(written)) return written;
  if (wholeNumber.test(written)) return Number(written);
  return written === 'true' || written === 'false' ? written === 'true' : undefined;
}

function readQuoted(text: string): string | undefined {
  return /[^\x20-\x7e\u00a1-\u02ff]/.test(text) ? undefined : text;
}

function isEmpty(map: object | undefined): boolean {
  return map !== undefined && Object.keys(map).length === 0;
}
