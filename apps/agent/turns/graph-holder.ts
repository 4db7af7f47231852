import type { Graph } from './graph.ts';

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

  /** Turns that begin from now on use it; those under way keep theirs. */
  put(graph: Graph): void {
    this.#graph = graph;
    this.#first.resolve(graph);
  }

  async current(): Promise<Graph> {
    return this.#graph ?? (await this.#first.promise);
  }
}
