import { type Environment, type Logger, loadYaml, readVariable } from '@trunkline/config';
import { createCompatDelegate, type Delegate, type DelegateContext, DelegateError } from '@trunkline/tools';
import { wordsOf } from '../errors.ts';
import { createAgentDelegate, type LateAnswers } from './a2a-delegate.ts';
import { type DelegateEntry, delegatesSchema, type EndpointEntry } from './schema.ts';

export interface DelegateBookOptions {
  path: string;
  env: Environment | undefined;
  /** Undefined where agents cannot reach this service. */
  late?: ((userId: string, delegate: string) => LateAnswers) | undefined;
  logger: Logger;
}

const researchPrompt = `You are a careful research assistant. Someone asks on behalf of a person who will hear your answer.
Answer in a few plain sentences. Say what you are not sure of. Do not use lists or headings.`;

const longestAnswerMs = 60_000;

/** Whom the assistant may ask, as the file last said. */
export class DelegateBook {
  readonly #options: DelegateBookOptions;
  #entries: readonly DelegateEntry[] = [];

  constructor(options: DelegateBookOptions) {
    this.#options = options;
  }

  /** Loads the file if there is one; a broken one is logged and leaves the book empty. */
  async start(): Promise<void> {
    try {
      await this.reload();
    } catch (error) {
      this.#options.logger.error({ reason: wordsOf(error) }, 'the delegates cannot be used');
    }
  }

  /** Reads the file anew, or throws and keeps what was loaded. */
  async reload(): Promise<void> {
    const { path, env } = this.#options;
    this.#entries =
      (await loadYaml(path, delegatesSchema, { ...(env && { env }), allowMissing: true })) ?? [];
  }

  get entries(): readonly DelegateEntry[] {
    return this.#entries;
  }

  /** The delegates of one session; each call looks its target up anew, so that a reload counts at once. */
  delegatesFor(userId: string, allowed: readonly string[] | undefined): Delegate[] {
    return this.#entries
      .filter(({ name }) => allowed?.includes(name) ?? true)
      .map(({ name, description }) => ({
        name,
        description,
        ask: (query, context) => this.#ask(name, userId, query, context),
      }));
  }

  async #ask(name: string, userId: string, query: string, context: DelegateContext): Promise<string> {
    const entry = this.#entries.find((candidate) => candidate.name === name);
    if (entry === undefined) throw new DelegateError('delegate_failed', `${name} is not there any more.`);
    try {
      return await this.#delegateOf(entry, userId).ask(query, context);
    } catch (error) {
      this.#options.logger.warn({ err: error, delegate: name }, 'a delegate gave no answer');
      throw error;
    }
  }

  #delegateOf(entry: DelegateEntry, userId: string): Delegate {
    const { env, late } = this.#options;
    if (entry.type === 'compat') return endpointDelegate(entry, env);
    const credential = entry.auth && readVariable(entry.auth.credentialsEnv, env);
    return createAgentDelegate({ ...entry, credential, late: late?.(userId, entry.name) });
  }
}

function endpointDelegate(entry: EndpointEntry, env: Environment | undefined): Delegate {
  const { name, description, url, model, max_tokens, temperature, system_prompt, api_key_env } = entry;
  const apiKey = api_key_env === undefined ? undefined : readVariable(api_key_env, env);
  const delegate = createCompatDelegate({
    name,
    description,
    url,
    model,
    maxTokens: max_tokens,
    temperature,
    instructions: system_prompt ?? researchPrompt,
    ...(apiKey !== undefined && { apiKey }),
  });
  return { ...delegate, ask: (query, context) => askWithin(delegate, query, context) };
}

async function askWithin(delegate: Delegate, query: string, context: DelegateContext): Promise<string> {
  const limit = AbortSignal.timeout(longestAnswerMs);
  try {
    return await delegate.ask(query, { ...context, signal: AbortSignal.any([limit, context.signal]) });
  } catch (error) {
    if (!limit.aborted || context.signal.aborted) throw error;
    const words = `${delegate.name} did not answer within a minute.`;
    throw new DelegateError('delegate_silent', words, { cause: error });
  }
}
