import { domainToASCII } from 'node:url';
import type { AssistantModelMessage, ModelMessage, ToolModelMessage, UserModelMessage } from 'ai';
import { MARK, type Marked, markOf, originsIn, originsOf, withMark } from './taint.ts';

const ADDRESS = /https?:\/\/[^\s<>"'`\\^{}|]+/gi;
/** Letters of any writing: "bücher.example" names neither "cher.example" nor nothing. */
const HOST =
  /(?<![\p{L}\p{N}\p{M}_.@-])(?:[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}-]{0,61}[\p{L}\p{N}\p{M}])?\.)+(?:xn--[a-z0-9-]{1,59}|\p{L}[\p{L}\p{M}]{1,62})(?![\p{L}\p{N}\p{M}_-])/giu;
/** Endings of files that are top-level domains too: "write notes.md" names no host. */
const FILE = /\.(?:md|zip|mov|py|sh|rs|pl|ps|cc|so|st|tf|ml|ms|app|dev|page|name|info|log)$/i;

/**
 * Whether the network may be asked for this address after outside text was read: whoever asked named its host, or the
 * exact address was written by others. An address that the model puts together carries data out.
 */
export function isKnownUrl(url: string, messages: readonly ModelMessage[]): boolean {
  const wanted = URL.parse(url);
  if (wanted === null) return false;
  if (wordsOfUser(messages).some((text) => namesHost(text, wanted.host))) return true;
  return quotesUrl(url, messages) && isOneOfFew(wanted, messages);
}

/** As many addresses of one site are read since a person spoke, if nobody named its host. */
const mostOfSite = 5;
/** And as many of all such sites together: somebody may own a site for each letter. */
const mostInAll = 20;

/**
 * Whoever offers an address for each letter can have a model spell a secret by reading them in order. The calls of this
 * turn are in the conversation already, those of the same step too: they count in their order. Of calls that are gone
 * a mark tells.
 */
function isOneOfFew(wanted: URL, messages: readonly ModelMessage[]): boolean {
  const site = siteOf(wanted);
  const words = wordsOfUser(messages);
  const isNamed = ({ host }: URL) => words.some((text) => namesHost(text, host));
  const [read, all] = [new Set<string>(), new Set<string>()];
  const called = calledSinceAsked(messages);
  if (called === everything) return false;
  for (const address of called) {
    if (!isNamed(address)) all.add(withoutFragment(address));
    if (siteOf(address) === site && !isNamed(address)) read.add(withoutFragment(address));
    if (withoutFragment(address) === withoutFragment(wanted))
      return read.size <= mostOfSite && all.size <= mostInAll;
  }
  return read.size < mostOfSite && all.size < mostInAll;
}

/** The addresses that were called since a person spoke, in order; `everything` where they were too many to store. */
function calledSinceAsked(messages: readonly ModelMessage[]): URL[] | typeof everything {
  const asked = messages.findLastIndex(
    (message) => message.role === 'user' && originsOf(message).length === 0,
  );
  // The mark of the person's own message tells of calls after it.
  const since = messages.slice(Math.max(asked, 0));
  const stored = since.flatMap(calledBefore);
  if (stored.includes(everything)) return everything;
  return [...stored.flatMap((href) => URL.parse(href) ?? []), ...since.flatMap(addressesCalled)];
}

/** What was called in messages that are gone, as the message in their place says. */
function calledBefore({ providerOptions }: Marked): string[] {
  return piecesOf(providerOptions?.[MARK]?.called);
}

/**
 * The message of a person after which calls were dropped: it goes on counting them, and tells whether they had read text
 * from outside.
 */
export function noteDropped(asked: ModelMessage, dropped: readonly ModelMessage[]): ModelMessage {
  const called = storedCalls([asked, ...dropped]);
  const hasRead = originsIn(dropped).length > 0;
  if (!hasRead && called === undefined) return asked;
  return withMark(asked, { ...(hasRead && { outsideRead: true }), ...(called && { called }) });
}

function storedCalls(messages: readonly ModelMessage[]): string[] | typeof everything | undefined {
  const called = calledSinceAsked(messages);
  if (called === everything) return everything;
  const each = [...new Set(called.map(withoutFragment))];
  if (each.length === 0) return undefined;
  return each.join('').length > mostWritten ? everything : each;
}

function addressesCalled({ role, content }: ModelMessage): URL[] {
  if (role !== 'assistant' || typeof content === 'string') return [];
  return content.flatMap((part) =>
    part.type === 'tool-call' ? [...addressesIn(writtenIn(part)), ...addressesAmong(part.input)] : [],
  );
}

/** Arguments that are an address as tools read it: `https:/host` and `https:\\host` mean `https://host` to them. */
function addressesAmong(input: unknown): URL[] {
  if (typeof input === 'object' && input !== null) return Object.values(input).flatMap(addressesAmong);
  const address = typeof input === 'string' ? URL.parse(input.trim()) : null;
  return address !== null && /^https?:$/.test(address.protocol) ? [address] : [];
}

/** The domain that somebody registered, about: where it is not clear, more hosts count as one site. */
function siteOf({ hostname }: URL): string {
  if (hostname.startsWith('[') || /^[\d.]+$/.test(hostname)) return hostname;
  const labels = hostname.replace(/\.$/, '').split('.');
  const isCountry = labels.at(-1)?.length === 2 && (labels.at(-2)?.length ?? 0) <= 3;
  return labels.slice(isCountry ? -3 : -2).join('.');
}

/**
 * Whether the user or a text from outside held exactly this address before the model wrote it. A tool may repeat what
 * the model gave it, so errors, results of our own tools, and orders and summaries that a model wrote (marked messages
 * of the user) do not count.
 */
export function quotesUrl(url: string, messages: readonly ModelMessage[]): boolean {
  const wanted = URL.parse(url);
  if (wanted === null) return false;
  if (wordsOfUser(messages).some((text) => holds(text, wanted))) return true;
  for (const message of messages) {
    if (message.role === 'assistant' && mentions(message, wanted)) return false;
    if (writtenBefore(message).some((piece) => mayHold(piece, wanted))) return false;
    if (textsFromOutside(message).some((text) => holds(text, wanted))) return true;
  }
  return false;
}

function wordsOfUser(messages: readonly ModelMessage[]): string[] {
  return messages.flatMap((message) =>
    message.role === 'user' && originsOf(message).length === 0 ? textOf(message) : [],
  );
}

function holds(text: string, wanted: URL): boolean {
  return addressesIn(text).some((address) => withoutFragment(address) === withoutFragment(wanted));
}

/** Whether the model wrote the address, in its text or as an argument; also without its scheme, or percent-encoded. */
function mentions(message: AssistantModelMessage, wanted: URL): boolean {
  const written = writtenBy(message);
  const bare = withoutScheme(wanted);
  return [written, percentDecoded(written)].some((text) =>
    [bare, percentDecoded(bare)].some((part) => text.toLowerCase().includes(part.toLowerCase())),
  );
}

function writtenBy({ content }: AssistantModelMessage): string {
  return typeof content === 'string' ? content : content.map(writtenIn).join('\n');
}

/** In place of the pieces where they are too many to store. */
const everything = 'everything';
/** No piece of an address has one of these. */
const NO_ADDRESS = /[\s<>"'`\\^{}|]+/;

/**
 * The pieces of what the model wrote in these messages that may hold an address, so that it counts as the model's own
 * where the messages themselves are gone. Those that others wrote first are left out.
 */
function addressesWritten(messages: readonly ModelMessage[]): string[] {
  const plain = (text: string) => text.replace(/[.,;:!?)\]*_/]+$/, '');
  const quoted = new Set(
    wordsOfUser(messages)
      .flatMap(addressesIn)
      .map(({ href }) => plain(href)),
  );
  const written = new Set<string>();
  for (const message of messages) {
    for (const piece of writtenBefore(message)) written.add(piece);
    for (const { href } of textsFromOutside(message).flatMap(addressesIn)) quoted.add(plain(href));
    if (message.role !== 'assistant') continue;
    const text = writtenBy(message);
    for (const piece of [text, percentDecoded(text)].flatMap((each) => each.split(NO_ADDRESS)))
      if (piece.includes('/') && !quoted.has(plain(piece))) written.add(piece.toLowerCase());
  }
  return [...written];
}

/** What the model wrote in messages that are gone, as the message in their place says. */
function writtenBefore({ providerOptions }: Marked): string[] {
  return piecesOf(providerOptions?.[MARK]?.written);
}

function piecesOf(stored: unknown): string[] {
  if (stored === everything) return [everything];
  return Array.isArray(stored) ? stored.filter((piece) => typeof piece === 'string') : [];
}

/** As `mentions`, for a stored piece: an address that has signs between pieces is known by its beginning. */
function mayHold(piece: string, wanted: URL): boolean {
  const bare = withoutScheme(wanted);
  if (piece === everything) return true;
  return [bare, percentDecoded(bare)].some((part) =>
    piece.includes((part.split(NO_ADDRESS, 1)[0] ?? part).toLowerCase()),
  );
}

function withoutScheme(url: URL): string {
  return withoutFragment(url).replace(/^https?:\/\//, '');
}

function writtenIn(part: Exclude<AssistantModelMessage['content'], string>[number]): string {
  if (part.type === 'text') return part.text;
  if (part.type !== 'tool-call') return '';
  const input = typeof part.input === 'string' ? part.input : (JSON.stringify(part.input) ?? '');
  return `${part.toolName} ${input}`;
}

function percentDecoded(text: string): string {
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (bytes) =>
    Buffer.from(bytes.replaceAll('%', ''), 'hex').toString('utf8'),
  );
}

/** Results of tools, and files that came with a message. A marked message as a whole is the order of a model. */
function textsFromOutside(message: ModelMessage): string[] {
  if (message.role === 'user') return originsOf(message).length > 0 ? [] : filesOf(message);
  return message.role === 'tool' ? resultsFromOutside(message) : [];
}

function filesOf({ content }: UserModelMessage): string[] {
  if (typeof content === 'string') return [];
  return content.flatMap((part) => (part.type === 'text' && originsOf(part).length > 0 ? [part.text] : []));
}

function resultsFromOutside({ content }: ToolModelMessage): string[] {
  return content.flatMap((part) => {
    if (part.type !== 'tool-result' || part.output.type !== 'text' || originsOf(part).length === 0) return [];
    return /^error:/i.test(part.output.value) ? [] : [part.output.value];
  });
}

function namesHost(text: string, host: string): boolean {
  const bare = (text.match(HOST) ?? []).filter((name) => !FILE.test(name)).map(domainToASCII);
  const named = [...bare, ...addressesIn(text).map((address) => address.host)];
  const plain = host.replace(/^www\./, '');
  return named.some((name) => name === host || name.replace(/^www\./, '') === plain);
}

/** Signs behind an address may belong to the sentence: both readings count. */
function addressesIn(text: string): URL[] {
  return (text.match(ADDRESS) ?? [])
    .flatMap((found) => [found, found.replace(/[.,;:!?)\]*_]+$/, '')])
    .flatMap((found) => URL.parse(found) ?? []);
}

function withoutFragment({ href }: URL): string {
  return href.split('#', 1)[0] ?? href;
}

function textOf({ content }: UserModelMessage): string {
  if (typeof content === 'string') return content;
  const own = content.filter((part) => originsOf(part).length === 0);
  return own.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
}

/** Beyond this many characters a summary stores no addresses: every address may then be the model's own. */
const mostWritten = 20_000;

/**
 * The mark of a message that stays in place of others or after them: what they have read, the addresses that the model
 * wrote in them, and those that it called since a person spoke.
 */
export function markOfDropped(
  dropped: readonly ModelMessage[],
  origins = originsIn(dropped),
): Pick<ModelMessage, 'providerOptions'> {
  const written = addressesWritten(dropped);
  const isTooMuch = written.includes(everything) || written.join('').length > mostWritten;
  const called = storedCalls(dropped);
  const marked = markOf(origins);
  if (written.length === 0 && called === undefined) return marked;
  return withMark(marked, {
    ...(written.length > 0 && { written: isTooMuch ? everything : written }),
    ...(called && { called }),
  });
}
