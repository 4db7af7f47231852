import type { Logger } from '@trunkline/config';
import { ownerKey, type Principal } from '@trunkline/identity';
import { costOf, estimateTokens, type ModelGateway, originOf, silenceLimitMs } from '@trunkline/llm';
import type { TurnPolicy } from '@trunkline/loop';
import { errorMessage } from '@trunkline/std';
import { oneLine } from '@trunkline/tools';
import { generateText } from 'ai';
import { type ChatStore, maxTitleLength } from './chat-store.ts';

/** A turn that has ended well. */
export interface CompletedTurn {
  sessionId: string;
  text: string;
  answer: string;
  principal: Principal;
}

export interface ChatTitlesDeps {
  chats: Pick<ChatStore, 'chat' | 'rename' | 'turns'>;
  gateway(): ModelGateway;
  policy: Pick<TurnPolicy, 'agent' | 'outOfMoney' | 'pay'>;
  /** A title was written for one of this owner's conversations. */
  onTitle(owner: string): void;
  logger: Pick<Logger, 'debug'>;
}

/** Titles under way; beyond them, conversations keep their first words. */
const mostAtOnce = 4;
/** Characters that the helper reads of the question, and of the answer. */
const readLength = 1500;
/** Room for a model that thinks first. */
const answerTokens = 512;
const order =
  'Give the conversation below a title of two to six words, in its own language. Answer with the title alone.';

/**
 * Gives conversations of people a title by the helper model after their first turn, in the background. Until then, where
 * it fails, and where no helper is set beside the chat model, the title is the first words that were said.
 */
export class ChatTitles {
  readonly #deps: ChatTitlesDeps;
  readonly #stop = new AbortController();
  readonly #underWay = new Set<Promise<void>>();

  constructor(deps: ChatTitlesDeps) {
    this.#deps = deps;
  }

  /** Never throws: an answer is whole without a title, also while the disk is full. */
  turnEnded(turn: CompletedTurn): void {
    try {
      this.#begin(turn);
    } catch (error) {
      this.#failed(error);
    }
  }

  #begin(turn: CompletedTurn): void {
    const { chats, gateway, policy } = this.#deps;
    const { sessionId, principal } = turn;
    const chat = chats.chat(sessionId);
    if (chat === undefined || !['chat', 'terminal', 'platform'].includes(chat.origin)) return;
    if (chats.turns(sessionId, 2).length !== 1 || this.#underWay.size >= mostAtOnce) return;
    const helper = helperOf(gateway());
    if (helper === undefined || policy.outOfMoney?.(principal, policy.agent) !== undefined) return;
    const work = this.#write(helper, turn, chat.title)
      .catch((error: unknown) => this.#failed(error))
      .finally(() => this.#underWay.delete(work));
    this.#underWay.add(work);
  }

  #failed(error: unknown): void {
    this.#deps.logger.debug({ problem: errorMessage(error) }, 'failed to write chat title');
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#underWay);
  }

  async #write(
    model: Model,
    { sessionId, text, answer, principal }: CompletedTurn,
    before: string,
  ): Promise<void> {
    const { chats, gateway, policy, onTitle } = this.#deps;
    const prompt = `User: ${text.slice(0, readLength)}\n\nAssistant: ${answer.slice(0, readLength)}`;
    const { text: written, usage } = await generateText({
      model,
      instructions: order,
      prompt,
      maxOutputTokens: answerTokens,
      maxRetries: 0,
      abortSignal: AbortSignal.any([
        this.#stop.signal,
        AbortSignal.timeout(silenceLimitMs(model, undefined)),
      ]),
    });
    const inputTokens = usage.inputTokens || estimateTokens(order + prompt);
    const outputTokens = usage.outputTokens || estimateTokens(written);
    const cost = costOf(gateway().price(model.modelId), { inputTokens, outputTokens });
    policy.pay?.(principal, policy.agent, cost ?? 0);
    const title = titleIn(written);
    if (title !== '' && chats.rename(sessionId, before, title)) onTitle(ownerKey(principal));
  }
}

type Model = ReturnType<ModelGateway['fastModel']>;

/** The helper where one is set: the chat model itself may be busy with what the person says next. */
function helperOf(gateway: ModelGateway): Model | undefined {
  if (gateway.describe().demo) return undefined;
  const helper = gateway.fastModel();
  const placeOf = (model: Model) => JSON.stringify([originOf(model)?.endpoint.baseUrl, model.modelId]);
  return placeOf(helper) === placeOf(gateway.languageModel()) ? undefined : helper;
}

/** Models put titles in quotes, in bold, below a heading or behind a word. */
function titleIn(written: string): string {
  const line = written.split('\n').find((each) => each.trim() !== '') ?? '';
  const bare = line.replace(/^[\s#*_"'“”‘’«»`]*(title:)?[\s*_"'“”‘’«»`]*/i, '');
  return oneLine(bare.replace(/(?<![\s*_"'“”‘’«»`.])[\s*_"'“”‘’«»`.]+$/, ''), maxTitleLength);
}
