import { setTimeout as pause } from 'node:timers/promises';
import type { Environment } from '@trunkline/config';
import { isServedAt } from '@trunkline/service';
import { errorMessage } from '@trunkline/std';
import { z } from 'zod';
import { CommandError } from '../commands/command.ts';
import { operatorHeaders } from '../operator/operator-headers.ts';

export type ServiceName = 'voice' | 'agent' | 'research' | 'switchboard';

const names: readonly ServiceName[] = ['voice', 'agent', 'research', 'switchboard'];

const limitMs = 90_000;
const lookMs = 20_000;
const againMs = 200;

const failure = z.object({ error: z.string().optional(), detail: z.string().optional() });

const overridesSchema = z.object({ overrides: z.array(z.object({ words: z.string() })) });

/** The services that run on this machine, as the operator calls them. */
export class RunningServices {
  readonly #urls: Readonly<Record<ServiceName, string>>;
  readonly #home: string;
  readonly #env: Environment;

  constructor(urls: Readonly<Record<ServiceName, string>>, home: string, env: Environment) {
    this.#urls = urls;
    this.#home = home;
    this.#env = env;
  }

  url(service: ServiceName): string {
    return this.#urls[service];
  }

  /**
   * From this home: a stranger on the port would get what is typed in here. One that was just set restarts, and its port is
   * closed for that moment.
   */
  async isRunning(service: ServiceName): Promise<boolean> {
    const signal = AbortSignal.timeout(lookMs);
    while (!signal.aborted && isServedAt(this.#home, this.url(service))) {
      const answer = await this.#fetch(service, '/operator/setup', { signal }).catch(() => undefined);
      if (answer !== undefined) return answer.ok;
      await pause(againMs);
    }
    return false;
  }

  async isAnyRunning(): Promise<boolean> {
    const running = await Promise.all(names.map((name) => this.isRunning(name)));
    return running.includes(true);
  }

  /** What wins over models.yaml in single services, in words. */
  async overrides(): Promise<string[]> {
    const views = await Promise.all(
      names.map(async (name) =>
        (await this.isRunning(name)) ? await this.call(name, '/operator/setup', overridesSchema) : undefined,
      ),
    );
    return [...new Set(views.flatMap((view) => view?.overrides.map(({ words }) => words) ?? []))];
  }

  /** Fails with a CommandError in the words of the service. */
  async call<Schema extends z.ZodType>(
    service: ServiceName,
    path: string,
    schema: Schema,
    { method = 'GET', body }: { method?: string; body?: object } = {},
  ): Promise<z.output<Schema>> {
    const response = await this.send(service, path, { method, body });
    const parsed = schema.safeParse(await response.json().catch(() => undefined));
    if (parsed.success) return parsed.data;
    throw new CommandError(`The ${service} service at ${this.url(service)} is of another version.`);
  }

  async send(
    service: ServiceName,
    path: string,
    { method, body }: { method: string; body?: object | undefined },
  ): Promise<Response> {
    const init = {
      method,
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(limitMs),
    };
    const response = await this.#fetch(service, path, init).catch((error: unknown) => {
      const words = `The ${service} service at ${this.url(service)} does not answer: ${errorMessage(error)}`;
      throw new CommandError(words, { cause: error });
    });
    if (response.ok) return response;
    const said = failure.safeParse(await response.json().catch(() => undefined)).data;
    throw new CommandError(said?.error ?? said?.detail ?? `It answered with status ${response.status}.`);
  }

  #fetch(service: ServiceName, path: string, init: RequestInit): Promise<Response> {
    const url = this.url(service);
    const headers = { ...operatorHeaders(url, this.#home, this.#env), 'content-type': 'application/json' };
    return fetch(`${url}${path}`, { ...init, headers });
  }
}
