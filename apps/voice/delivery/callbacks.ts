import { createHash, randomBytes } from 'node:crypto';
import type { Database } from '@trunkline/storage';
import { questionKey } from '@trunkline/tools';
import type { LateAnswers } from '../delegates/a2a-delegate.ts';
import { SweptTable } from '../store/database.ts';
import type { DeliveryPort } from './delivery.ts';
import { pushedBy } from './delivery-controller.ts';

/** One delegation: whom the delegate may notify, and how far it is. */
export interface CallbackGrant {
  userId: string;
  delegate: string;
  /** `asking`: the answer may still come in the response. `late`: it did not. `answered`: it did. */
  state: 'asking' | 'late' | 'answered';
  /** What was pushed before the response came. */
  text?: string;
  /** The key of the question whose answer will be pushed, and until when to expect it. */
  expected?: { question: string; until: number };
}

/** Tokens that open the callback for one delegation each. Only their hashes are stored. */
export class CallbackTokens {
  readonly #table: SweptTable<CallbackGrant>;

  constructor(database: Database) {
    this.#table = new SweptTable<CallbackGrant>(database, 'callback_tokens');
  }

  issue(userId: string, delegate: string): string {
    const token = randomBytes(32).toString('base64url');
    this.#table.set(keyOf(token), { userId, delegate, state: 'asking' });
    return token;
  }

  find(token: string): CallbackGrant | undefined {
    return this.#table.get(keyOf(token));
  }

  update(token: string, change: Partial<CallbackGrant>): void {
    const grant = this.find(token);
    if (grant !== undefined) this.#table.set(keyOf(token), { ...grant, ...change });
  }

  isExpected(userId: string, delegate: string, question: string): boolean {
    return this.#table
      .entries()
      .some(
        ([, grant]) =>
          grant.state === 'late' &&
          grant.userId === userId &&
          grant.delegate === delegate &&
          grant.expected?.question === question &&
          grant.expected.until > Date.now(),
      );
  }

  /** After a restart: delivers what was pushed, and expects the rest as late answers. */
  recover(delivery: DeliveryPort): void {
    for (const [key, grant] of this.#table.entries()) {
      const { state, text, userId, delegate: from } = grant;
      if (state !== 'asking') continue;
      if (text !== undefined)
        delivery.deliver(userId, { from, text, policy: 'next_silence', origins: pushedBy(from) });
      this.#table.set(key, { ...grant, state: text === undefined ? 'late' : 'answered' });
    }
  }
}

/** A look-up by hash reveals nothing about the token through its timing. */
function keyOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}

/** A delegate that pushes nothing for this long may be asked again. */
const expectedForMs = 30 * 60 * 1000;

/** Lets slow delegates push their answer to the callback, where they can reach it. */
export function createLateAnswers(callbackUrl: () => string | undefined, tokens: CallbackTokens) {
  return (userId: string, delegate: string): LateAnswers | undefined => {
    const url = callbackUrl();
    if (url === undefined) return undefined;
    return {
      open: () => ({ url, token: tokens.issue(userId, delegate) }),
      answered: (token) => tokens.update(token, { state: 'answered' }),
      missed(token) {
        const pushed = tokens.find(token)?.text;
        tokens.update(token, { state: pushed === undefined ? 'late' : 'answered' });
        return pushed;
      },
      expect(token, query) {
        const until = Date.now() + expectedForMs;
        tokens.update(token, { expected: { question: questionKey(query), until } });
      },
      isExpected: (query) => tokens.isExpected(userId, delegate, questionKey(query)),
    };
  };
}

export interface Pushed {
  /** Undefined while the task is still working. */
  text: string | undefined;
  from: string | undefined;
  /** Set if the sender waits for an answer. */
  question: { taskId: string; contextId?: string } | undefined;
}

/** Reads a pushed result. Senders put its text in different places. */
export function readPushed(body: unknown): Pushed {
  const { text, result, message, task, statusUpdate } = fieldsOf(body);
  const holders = [result, task, statusUpdate, body].map(fieldsOf);
  const candidates = [
    typeof text === 'string' ? text : undefined,
    ...holders.map(artifactText),
    partsText(fieldsOf(message).parts),
    ...holders.map(statusText),
  ];
  return {
    text: candidates.map((candidate) => candidate?.trim()).find(Boolean),
    from: senderOf(body),
    question: holders.map(questionOf).find((question) => question !== undefined),
  };
}

function senderOf(body: unknown): string | undefined {
  const { from, agent } = fieldsOf(body);
  const name = [from, agent].find((value) => typeof value === 'string' && value.trim() !== '');
  return typeof name === 'string' ? name.trim().slice(0, 100) : undefined;
}

/** The answer of a task, or of its last status update, which carries it beside the status. */
function artifactText(holder: Fields): string | undefined {
  const { artifacts, artifact } = holder;
  const all = Array.isArray(artifacts) ? artifacts : stateOf(holder) === 'completed' ? [artifact] : [];
  return joined(all.map((each) => partsText(fieldsOf(each).parts)));
}

/** Why a task failed, or what it asks. Progress texts are not spoken. */
function statusText(holder: Fields): string | undefined {
  const isSpoken = ['failed', 'rejected', 'canceled', 'input-required'].includes(stateOf(holder));
  return isSpoken ? partsText(fieldsOf(fieldsOf(holder.status).message).parts) : undefined;
}

function questionOf(holder: Fields): Pushed['question'] {
  const { taskId = holder.id, contextId } = holder;
  if (stateOf(holder) !== 'input-required' || typeof taskId !== 'string') return undefined;
  return { taskId, ...(typeof contextId === 'string' && { contextId }) };
}

/** As A2A 0.3 spells it; 1.0 has TASK_STATE_FAILED for failed. */
function stateOf(holder: Fields): string {
  const { state } = fieldsOf(holder.status);
  if (typeof state !== 'string') return '';
  return state
    .replace(/^TASK_STATE_/, '')
    .toLowerCase()
    .replaceAll('_', '-');
}

function partsText(parts: unknown): string | undefined {
  if (!Array.isArray(parts)) return undefined;
  return joined(parts.map((part) => fieldsOf(part).text));
}

function joined(texts: readonly unknown[]): string {
  return texts.filter((text) => typeof text === 'string' && text.trim() !== '').join(' ');
}

type Fields = Record<string, unknown>;

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}
