type Needs = Readonly<Record<string, Component<unknown>>>;
/** The values of running components, by the names under which they were given. */
export type ComponentValues<N extends Needs> = {
  readonly [Name in keyof N]: N[Name] extends Component<infer V> ? V : never;
};

/** A part of a service that starts after what it needs and stops before it. */
export interface Component<Value> {
  readonly name: string;
  readonly needs: Needs;
  start(values: object): Value | Promise<Value>;
  stop?(value: Value): void | Promise<void>;
  /** One of its needs that stops as soon as this one is to stop, before what else it needs. */
  readonly stopsFirst?: Component<unknown>;
}

/**
 * Declares a component; nothing starts before `startComponents`. Instead of a function, `stop` may name a need that stops in
 * its place, as a bus must before the components that its handlers use.
 */
export function component<Value, N extends Needs>(
  name: string,
  needs: N,
  start: (values: ComponentValues<N>) => Value | Promise<Value>,
  stop?: ((value: Value) => void | Promise<void>) | (keyof N & string),
): Component<Value> {
  const declared = { name, needs, start: start as Component<Value>['start'] };
  if (typeof stop === 'function') return { ...declared, stop };
  const stopsFirst = stop === undefined ? undefined : needs[stop];
  return { ...declared, ...(stopsFirst && { stopsFirst }) };
}

export interface RunningComponents<N extends Needs> {
  values: ComponentValues<N>;
  /** Stops every component before those it needs. A failure is thrown after all have been stopped. */
  stop(): Promise<void>;
}

/**
 * Starts the components and all they need, each once. The order follows from the needs alone, not from the order in which
 * they are declared. When one fails to start, those that run are stopped again.
 */
export async function startComponents<N extends Needs>(wanted: N): Promise<RunningComponents<N>> {
  const running = new Map<Component<unknown>, unknown>();
  const startOnce = async (each: Component<unknown>): Promise<unknown> => {
    if (running.has(each)) return running.get(each);
    const value = await each.start(await startAll(each.needs));
    running.set(each, value);
    return value;
  };
  const startAll = async (needs: Needs): Promise<object> => {
    const values: Record<string, unknown> = {};
    for (const [name, each] of Object.entries(needs)) values[name] = await startOnce(each);
    return values;
  };
  try {
    const values = (await startAll(wanted)) as ComponentValues<N>;
    return { values, stop: () => stopAll(running) };
  } catch (error) {
    // Whoever starts the service needs the cause, not what came after it.
    await stopAll(running).catch(() => undefined);
    throw error;
  }
}

async function stopAll(running: Map<Component<unknown>, unknown>): Promise<void> {
  const failures: Error[] = [];
  const stopOnce = async (each: Component<unknown>) => {
    const value = running.get(each);
    if (!running.delete(each)) return;
    try {
      await each.stop?.(value);
    } catch (error) {
      failures.push(new Error(`failed to stop ${each.name}`, { cause: error }));
    }
  };
  for (const each of [...running.keys()].reverse()) {
    if (each.stopsFirst !== undefined) await stopOnce(each.stopsFirst);
    await stopOnce(each);
  }
  if (failures.length > 0) throw new AggregateError(failures, 'Some components did not stop.');
}

/** What the operator configured, where others reach the service by other addresses than those that it listens on. */
interface ConfiguredAddress {
  publicUrl?: string | undefined;
  /** Of gRPC: `host:port` or a URL. */
  grpcPublicAddress?: string | undefined;
}

/** Where a service is reached. Components may hold it from the beginning; its values exist once the service listens. */
export class ServiceAddress {
  readonly #configured: ConfiguredAddress;
  #url: string | undefined;
  #grpcPort: number | undefined;

  constructor(configured: ConfiguredAddress = {}) {
    this.#configured = configured;
  }

  listen(url: string, grpcPort?: number): void {
    this.#url = url;
    this.#grpcPort = grpcPort;
  }

  /** Where others speak A2A over gRPC, if at all. */
  get grpcAddress(): string | undefined {
    if (this.#grpcPort === undefined) return undefined;
    return this.#configured.grpcPublicAddress ?? `${new URL(this.publicUrl).hostname}:${this.#grpcPort}`;
  }

  /** For calls on this machine. */
  get url(): string {
    if (this.#url === undefined) throw new Error('The address is known once the service listens.');
    return this.#url;
  }

  /** For everybody else. */
  get publicUrl(): string {
    return this.#configured.publicUrl ?? this.url;
  }
}
