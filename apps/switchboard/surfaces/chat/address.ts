import { unescapeSegment } from '@trunkline/bus';

/** Where on the chat platform something goes, and whose bot says it. */
export type ChatAddress = { agent?: string } & (
  | { kind: 'channel'; id: string }
  | { kind: 'user'; id: string }
  | { kind: 'slash'; id: string }
  | { kind: 'alert' }
  | { kind: 'digest' }
);

const prefix = 'message.outbound.chat';
const snowflake = /^\d{5,25}$/;

/** Undefined when the topic is no address. */
export function chatAddress(topic: string): ChatAddress | undefined {
  const segments = topic
    .slice(prefix.length + 1)
    .split('.')
    .map(unescapeSegment);
  const by = segments.at(-2) === 'by' ? segments.at(-1) : undefined;
  const place = placeOf(by === undefined ? segments : segments.slice(0, -2));
  return place && { ...place, ...(by !== undefined && { agent: by }) };
}

function placeOf([first = '', second = '', third = '', ...rest]: string[]): ChatAddress | undefined {
  if (rest.length > 0) return undefined;
  if (first === 'alert' && second === '') return { kind: 'alert' };
  if (first === 'dm' && second === 'user' && snowflake.test(third)) return { kind: 'user', id: third };
  if (first === 'slash' && snowflake.test(second) && third === '') return { kind: 'slash', id: second };
  if (first === 'push' && third === '')
    return snowflake.test(second) ? { kind: 'channel', id: second } : { kind: 'digest' };
  return snowflake.test(first) && second === '' ? { kind: 'channel', id: first } : undefined;
}
