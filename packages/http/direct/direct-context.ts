import type { KitVariables, RouteContext, ServerBindings } from '../app/context.ts';
import { readText } from './read-text.ts';

/** The context of a request that did not go through Hono. Its path has no query. */
export class DirectContext implements RouteContext {
  readonly env: ServerBindings;
  readonly req: RouteContext['req'];
  readonly #variables: KitVariables;

  constructor(env: ServerBindings, path: string, variables: KitVariables) {
    const { incoming } = env;
    this.env = env;
    this.#variables = variables;
    this.req = {
      method: incoming.method ?? '',
      path,
      header: (name) => joined(incoming.headers[name]),
      query: () => undefined,
      text: () => readText(incoming),
    };
  }

  get<Name extends keyof KitVariables>(name: Name): KitVariables[Name] {
    return this.#variables[name];
  }
}

function joined(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value;
}
