import type { Graph } from './graph.ts';

const helperTools = new Set(['task', 'task_batch']);

/** The compiled agent, once there is one; turns that come before wait for it. */
export class GraphHolder {
  readonly #first = Promise.withResolvers<Graph>();
  #graph: Graph | undefined;

  get compiled(): boolean {
    return this.#graph !== undefined;
  }

  /** The graph as it stands; undefined before the first compilation. */
  get graph(): Graph | undefined {
    return this.#graph;
  }

  /** Models call tools that do not exist: their names must not become labels. */
  knowsTool(name: string): boolean {
    const { tools = [], humanTools = [] } = this.#graph ?? {};
    return helperTools.has(name) || [...tools, ...humanTools].some((tool) => tool.name === name);
  }

  /** Turns that begin from now on use it; those under way keep theirs. */
  put(graph: Graph): void {
    this.#graph = graph;
    this.#first.resolve(graph);
  }

  async current(): Promise<Graph> {
    return this.#graph ?? (await this.#first.promise);
  }
}
