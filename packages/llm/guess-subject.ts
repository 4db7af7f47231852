import { type CallSubject, urlSubject } from './tool.ts';

type Kind = 'path' | 'host' | 'address' | 'command' | 'recipient';

/** Words in the names of arguments, by what they hold. */
const WORDS: Record<Kind, string> = {
  path: 'path paths file files filename filenames filepath dir directory directories folder folders source destination root cwd',
  host: 'host hosts hostname domain domains server site',
  address: 'url urls uri uris href link links endpoint website address',
  command: 'command commands cmd script shell',
  recipient: 'recipient recipients to cc bcc target channel chat topic email emails mail phone room user',
};

const kindsByWord = new Map<string, Kind[]>();
for (const [kind, words] of Object.entries(WORDS) as [Kind, string][])
  for (const word of words.split(' ')) kindsByWord.set(word, [...(kindsByWord.get(word) ?? []), kind]);

/** Longer than any path or mail address that a system takes. */
const LONGEST_PATH = 4096;
const LONGEST_MAIL = 320;

/**
 * What a call is about, by the names and formats of its arguments, for tools that others wrote: they declare no subject.
 * Rather too much than too little, because rules that ask or deny fit any of it. With `staysHere` addresses are no network
 * reads: whoever gets them reaches nothing.
 */
export function guessSubject(input: unknown, { staysHere = false } = {}): CallSubject {
  const found = new Map<string, CallSubject>();
  for (const { url, ...rest } of subjectsIn(input, [])) {
    const each = url === undefined || staysHere ? rest : { ...rest, url };
    if (Object.keys(each).length > 0) found.set(JSON.stringify(each), each);
  }
  const first: CallSubject = {};
  const others: CallSubject[] = [];
  for (const each of found.values())
    if (Object.keys(each).some((field) => field in first)) others.push(each);
    else Object.assign(first, each);
  if (found.size === 0) return {};
  return { ...first, guessed: true, ...(others.length > 0 && { others }) };
}

function subjectsIn(value: unknown, kinds: readonly Kind[]): CallSubject[] {
  if (typeof value === 'string') return subjectsOf(value, kinds);
  // A chat, a room or a user may have a number.
  if (typeof value === 'number') return kinds.includes('recipient') ? [{ recipient: String(value) }] : [];
  if (typeof value !== 'object' || value === null) return [];
  if (!Array.isArray(value)) return Object.entries(value).flatMap((entry) => subjectsOfEntry(entry, value));
  const words = kinds.includes('command') ? textsOf(value) : [];
  const command = words.length > 1 ? [{ command: words.join(' ') }] : [];
  return [...command, ...value.flatMap((each) => subjectsIn(each, kinds))];
}

function subjectsOfEntry([name, value]: [string, unknown], siblings: object): CallSubject[] {
  const kinds = kindsOf(name);
  if (typeof value !== 'string' || !kinds.includes('command')) return subjectsIn(value, kinds);
  const { args, arguments: more } = siblings as { args?: unknown; arguments?: unknown };
  return subjectsIn([value, ...textsOf(args), ...textsOf(more)].join(' '), kinds);
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];
}

/** `filePath`, `file_path` and `file-path` have the same words. */
function kindsOf(name: string): Kind[] {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  return [...new Set(words.flatMap((word) => kindsByWord.get(word) ?? []))];
}

function subjectsOf(text: string, kinds: readonly Kind[]): CallSubject[] {
  const has = (kind: Kind) => kinds.includes(kind);
  const address = addressSubject(text, has('address'));
  const isPath = address.path === undefined && (has('path') || looksLikePath(text));
  const recipients = has('recipient') ? text.split(/[,;]/) : [text];
  return [
    address,
    ...(isPath ? [{ path: text }] : []),
    ...(has('host') && address.host === undefined ? [{ host: hostOf(text) }] : []),
    ...(has('command') ? [{ command: text }] : []),
    ...recipients.flatMap((each) => {
      const recipient = mailOf(each.trim()) ?? (has('recipient') ? each.trim() : undefined);
      return recipient === undefined ? [] : [{ recipient }];
    }),
  ];
}

/** A file or another address; where the name of the argument asks for one, a host without a scheme counts too. */
export function addressSubject(text: string, isNamed = false): CallSubject {
  const given = text.trim();
  const whole = given.startsWith('//') ? `https:${given}` : given;
  if (/^file:/i.test(whole)) return fileSubject(whole);
  if (/^(?:[a-z][a-z0-9+.-]*:\/\/|https?:)/i.test(whole)) return hostSubject(whole);
  const { host } = isNamed && !/^[./~]/.test(whole) ? hostSubject(`https://${whole}`) : {};
  return host === undefined ? {} : { host };
}

function hostSubject(address: string): CallSubject {
  const subject = urlSubject(address);
  return subject.host === '' ? {} : subject;
}

function fileSubject(address: string): CallSubject {
  const path = URL.parse(address)?.pathname ?? address;
  try {
    return { path: decodeURIComponent(path) };
  } catch {
    return { path };
  }
}

function hostOf(text: string): string {
  return URL.parse(`http://${text.trim()}`)?.hostname || text;
}

function looksLikePath(text: string): boolean {
  return text.length <= LONGEST_PATH && /^(?:\.{0,2}[\\/]|~[\\/]|[a-z]:[\\/])[^\n]*$/i.test(text);
}

/** `ada@example.com`, also of `Ada <ada@example.com>` and `mailto:ada@example.com`. */
function mailOf(text: string): string | undefined {
  if (text.length > LONGEST_MAIL) return undefined;
  return /^(?:mailto:|[^<>@]*<)?([^\s<>@:/]+@[^\s<>@:/]+)>?$/i.exec(text)?.[1];
}
