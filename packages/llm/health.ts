import { BoundedMap } from '@trunkline/std';
import { type ConfiguredModels, judge, type ModelCheck, problemWords } from './check.ts';
import { type Endpoint, listModels } from './endpoint.ts';
import { toModelError } from './error-translation.ts';
import type { ModelError, ModelErrorCode } from './model-error.ts';
import { endpointKind, isLocalAddress } from './profiles/endpoint-kind.ts';

/** Why models cannot be used, in words that name the setting to change. */
export type ModelProblem = Pick<ModelCheck, 'code' | 'message'>;

/** Failed calls that say something about the endpoint, and not only about that one call. */
const tellingCodes: readonly ModelErrorCode[] = ['unreachable', 'refused-key', 'no-credit', 'not-found'];

/** Failed lists that say nothing: many gateways have none, are busy, or load a model. */
const silentCodes: readonly ModelErrorCode[] = [
  'not-found',
  'bad-request',
  'rate-limited',
  'loading',
  'aborted',
];

/** How long a look at the list of models counts: asking again is cheap nearby, and soon where it failed. */
const freshMs = { local: { ok: 3000, failed: 1000 }, remote: { ok: 60_000, failed: 15_000 } } as const;

/** A refused key or an empty account that only calls show is forgotten then, as no look at the list can clear it. */
const longestGrudgeMs = 600_000;

const firstWaitMs = 2000;
const laterWaitMs = 500;

/** Names of models whose calls are remembered at one endpoint. */
const mostModels = 100;

const endpoints = new BoundedMap<string, EndpointHealth>(100);

/** The observed state of an endpoint, which all gateways of the process share. */
export function healthOf(endpoint: Endpoint): EndpointHealth {
  const id = JSON.stringify([endpoint.baseUrl, endpoint.headers, endpoint.query]);
  const known = endpoints.get(id) ?? new EndpointHealth(endpoint);
  endpoints.set(id, known);
  return known;
}

interface Look {
  at: number;
  models: string[];
  error: ModelError | undefined;
}

interface Call {
  at: number;
  error: ModelError | undefined;
}

/** What calls and looks at the list of models showed. Asks only for that list, which costs nothing, and only when it is asked itself. */
export class EndpointHealth {
  readonly #endpoint: Endpoint;
  readonly #calls = new BoundedMap<string, Call>(mostModels);
  #look: Look | undefined;
  #looking: Promise<void> | undefined;
  #successAt = Number.NEGATIVE_INFINITY;

  constructor(endpoint: Endpoint) {
    this.#endpoint = endpoint;
  }

  /** Takes what a call showed. */
  note(model: string, error: ModelError | undefined): void {
    const at = performance.now();
    if (error === undefined) {
      this.#successAt = at;
      this.#calls.set(model, { at, error });
    } else if (tellingCodes.includes(error.code)) {
      this.#calls.set(model, { at, error });
      this.#look = undefined;
    }
  }

  /** What keeps the configured models from being used; a look that takes long counts the next time. */
  async problem(configured: ConfiguredModels): Promise<ModelProblem | undefined> {
    await this.#refresh();
    return this.#ofList(configured) ?? this.#ofCalls(configured);
  }

  async #refresh(): Promise<void> {
    const look = this.#look;
    const { ok, failed } = freshMs[isLocalAddress(this.#endpoint.baseUrl) ? 'local' : 'remote'];
    const limit = look?.error === undefined ? ok : failed;
    if (look !== undefined && performance.now() - look.at < limit) return;
    this.#looking ??= this.#list().finally(() => {
      this.#looking = undefined;
    });
    const { promise: tooLong, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, look === undefined ? firstWaitMs : laterWaitMs);
    await Promise.race([this.#looking, tooLong]);
    clearTimeout(timer);
  }

  async #list(): Promise<void> {
    const { secrets } = this.#endpoint;
    const look = await listModels(this.#endpoint, undefined).then(
      (models) => ({ models, error: undefined }),
      (error: unknown) => ({ models: [], error: toModelError(error, { secrets }) }),
    );
    this.#look = { ...look, at: performance.now() };
  }

  #ofList(configured: ConfiguredModels): ModelProblem | undefined {
    const look = this.#look;
    if (look === undefined) return undefined;
    const { error, models, at } = look;
    if (error !== undefined) {
      // A busy endpoint may be slow with its list while it answers.
      if (silentCodes.includes(error.code) || this.#successAt > at) return undefined;
      return { code: error.code, message: problemWords(this.#endpoint, error, configured) };
    }
    const isUsable = (name: string) =>
      this.#calls.get(name)?.error === undefined && (this.#calls.has(name) || !this.#namesAll());
    const { ok, ...problem } = judge(this.#endpoint, configured, models, isUsable);
    return ok ? undefined : problem;
  }

  /** Whether the list tells all names that work: some take any name, or have names of their own for deployments. */
  #namesAll(): boolean {
    return !['llamacpp', 'azure', 'bedrock', 'openrouter'].includes(endpointKind(this.#endpoint.baseUrl));
  }

  #ofCalls(configured: ConfiguredModels): ModelProblem | undefined {
    for (const name of [configured.model, configured.fastModel]) {
      const call = name === undefined ? undefined : this.#calls.get(name);
      if (name === undefined || call?.error === undefined || this.#isOver(name, call.error, call.at))
        continue;
      return { code: call.error.code, message: problemWords(this.#endpoint, call.error, configured) };
    }
    return undefined;
  }

  #isOver(name: string, { code }: ModelError, at: number): boolean {
    const isListed = this.#look?.error === undefined && (this.#look?.at ?? 0) > at;
    if (code === 'unreachable') return isListed;
    if (code === 'not-found' && isListed && this.#look?.models.includes(name)) return true;
    return performance.now() - at > longestGrudgeMs;
  }
}
