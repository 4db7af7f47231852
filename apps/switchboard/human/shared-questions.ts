import { randomUUID } from 'node:crypto';
import type { Bus, Memory } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import type { SharedRows } from '../cluster/row-replica.ts';
import type { Sealing } from '../cluster/workspace-replica.ts';
import type { QuestionStore, SharedQuestion } from './question-store.ts';

/** As long as answers stay in the store of questions. */
const keptMs = 7 * 24 * 60 * 60 * 1000;
/** Characters of a sealed answer. */
const longest = 300_000;

/** The questions of this switchboard for the others, and theirs for this one. */
export function sharedQuestions(own: QuestionStore, copies: QuestionStore): SharedRows<SharedQuestion> {
  return {
    subject: 'questions',
    onChange: (listener) => own.onChange(listener),
    read(id, maxBytes) {
      const row = own.shared(id);
      if (row === undefined) return undefined;
      copies.drop(id);
      // A call may hold a whole file; only the audit log would name it.
      const fits = (given: SharedQuestion) => Buffer.byteLength(JSON.stringify(given)) <= maxBytes;
      return [row, { ...row, about: null }].find(fits);
    },
    newest: (limit, since) => own.newest(limit, since),
    take(row, node) {
      // One that went on here, or that was answered while this switchboard was away, is both's.
      if (own.get(row.requestId) === undefined) copies.take(row, node);
      else own.take(row, null);
    },
  };
}

/** The first answer that was given to a question. */
interface KeptAnswer {
  id: string;
  answer: string;
  /** Id of the principal. */
  by: string;
}

interface KeptAnswers {
  /** Keeps an answer unless there is one; gives the first, or undefined when that cannot be opened. */
  keep(requestId: string, given: KeptAnswer): Promise<KeptAnswer | undefined>;
  recall(requestId: string): Promise<KeptAnswer | undefined>;
  /** True once for each question, wherever it is asked. */
  use(requestId: string): Promise<boolean>;
}

/** What human input needs where other switchboards share the bus. */
export interface SharedInput {
  /** Of the questions of the others. */
  copies: QuestionStore;
  isGone(node: string): boolean;
  answers: KeptAnswers;
}

/** Answers in a memory of the bus: the first counts at all switchboards, and whoever goes on with the work reads it. */
export function createKeptAnswers(bus: Bus, { seal, exchange }: Sealing, logger: Logger): KeptAnswers {
  let opening: Promise<Memory> | undefined;
  const memory = () => {
    opening ??= bus.memory('answers', { ttlMs: keptMs, longest }).catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
  async function opened(requestId: string, sealed: string): Promise<KeptAnswer | undefined> {
    try {
      return JSON.parse(await exchange.open(sealed, requestId)) as KeptAnswer;
    } catch (err) {
      // It is asked again.
      logger.warn({ err, requestId }, 'failed to open an answer that another switchboard keeps');
      return undefined;
    }
  }
  return {
    async keep(requestId, given) {
      const sealed = seal.seal(JSON.stringify(given), requestId);
      const first = await (await memory()).keep(`answer-${requestId}`, sealed);
      return first === sealed ? given : await opened(requestId, first);
    },
    async recall(requestId) {
      try {
        const sealed = await (await memory()).recall(`answer-${requestId}`);
        return sealed === undefined ? undefined : await opened(requestId, sealed);
      } catch (err) {
        // It is asked again.
        logger.warn({ err, requestId }, 'failed to read whether a question was answered elsewhere');
        return undefined;
      }
    },
    async use(requestId) {
      const mark = randomUUID();
      return (await (await memory()).keep(`used-${requestId}`, mark)) === mark;
    },
  };
}
