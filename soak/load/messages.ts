import { setTimeout as delay } from 'node:timers/promises';
import { call } from '../http.ts';
import type { Entry, Standing } from '../ledger.ts';
import { type Ground, type Load, oneByOne } from './load.ts';

interface BusMessage {
  id: string;
  topic: string;
  correlationId: string;
  payload: { content?: string; error?: string; taskState?: string };
}

interface DeadLetter {
  durable: string;
  error: string;
  message: BusMessage;
}

const replyTopic = 'message.outbound.soak';
const attempts = 4;
const retryMs = 1000;

/** Messages for the switchboard's own agents, published again under their id when no answer came. */
export function messageLoad(ground: Ground): Load {
  return publishLoad(ground, 'switchboard messages', 1500, (content) => ({
    topic: 'message.inbound.cli',
    payload: { content },
  }));
}

/** Requests that the switchboard passes on to the agent service over A2A. */
export function relayLoad(ground: Ground): Load {
  return publishLoad(ground, 'relayed requests', 3000, (content) => ({
    topic: 'agent.skill.request',
    payload: { content, skillHint: 'chat', agent: 'agent' },
  }));
}

function publishLoad(
  { urls }: Ground,
  name: string,
  pauseMs: number,
  draft: (mark: string) => { topic: string; payload: object },
): Load {
  return {
    name,
    pauseMs,
    async offer(mark) {
      const body = { ...draft(mark), id: mark, correlationId: mark, reply: { topic: replyTopic } };
      return (await isPublished(urls.switchboard, body)) ? { id: mark, mark } : undefined;
    },
    standings: (entries) => oneByOne(entries, (entry) => messageStanding(urls.switchboard, entry)),
  };
}

async function isPublished(url: string, body: object): Promise<boolean> {
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const answer = await call(`${url}/publish`, body).catch(() => undefined);
    if (answer?.isGood) return true;
    await delay(retryMs);
  }
  return false;
}

async function messageStanding(url: string, { id }: Entry): Promise<Standing> {
  const messages = await messagesOf(url, id);
  const replies = messages.filter(({ topic }) => topic === replyTopic);
  const [reply] = replies;
  if (messages.length === 0) return { state: 'missing', times: 0, reason: 'the journal does not know it' };
  if (reply === undefined) return await unansweredStanding(url, id);
  const { error, content = '', taskState } = reply.payload;
  if (error !== undefined || taskState === 'failed')
    return { state: 'failed', times: replies.length, reason: error ?? content };
  return { state: 'answered', times: replies.length };
}

/** What a handler failed on every time lies among the dead letters, with the reason, and can be replayed. */
export async function unansweredStanding(url: string, correlationId: string): Promise<Standing> {
  const { body } = await call<{ data: { letters: DeadLetter[] } }>(`${url}/api/dead-letters`);
  const letter = body.data.letters.find(({ message }) => message.correlationId === correlationId);
  return letter === undefined
    ? { state: 'pending', times: 0, reason: 'no answer was published' }
    : { state: 'failed', times: 0, reason: `dead letter of ${letter.durable}: ${letter.error}` };
}

/** All journalled messages of a correlation. */
export async function messagesOf(url: string, correlationId: string): Promise<BusMessage[]> {
  const query = `correlationId=${encodeURIComponent(correlationId)}&limit=1000`;
  const { body } = await call<{ data: { messages: { message: BusMessage }[] } }>(
    `${url}/api/bus/history?${query}`,
  );
  return body.data.messages.map(({ message }) => message);
}
