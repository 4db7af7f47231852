// What a service says about itself at /healthz, made ready to be shown. Every part may be missing.

import { useSyncExternalStore } from 'react';
import { useApi } from '../api/ApiProvider.tsx';
import { type Api, asApiError } from '../api/api.ts';
import type { LampState } from '../components/Lamp.tsx';
import type { Resource } from '../hooks/useResource.ts';
import { SERVICE_NAMES, type ServiceLink } from '../shell/services.tsx';

/** A service that died is to be seen at once; the answer is small and comes from the same machine or network. */
const REFRESH_MS = 2000;

/** While nothing changes, the time of the last answer is told this often. */
const TOLD_MS = 10_000;

// A service that is not ready answers 503 with the same body.
const ACCEPTED = [503];

export interface HealthModel {
  name: string;
  demo: boolean;
  url: string | undefined;
  /** What keeps it from being used, and what to check. */
  problem: string | undefined;
}

/** Something that is not set up yet. */
export interface MissingPart {
  what: string;
  variable: string | undefined;
  hint: string | undefined;
}

export interface Fact {
  /** The name of the field in the answer. */
  key: string;
  value: string;
}

export interface Health {
  state: LampState;
  /** The state in a word. */
  word: string;
  model: HealthModel | undefined;
  /** Undefined when the service does not tell. */
  missing: MissingPart[] | undefined;
  services: ServiceLink[];
  facts: Fact[];
}

export function readHealth(body: unknown, pageUrl: string): Health {
  const fields = recordOf(body);
  const model = modelOf(fields.model);
  const missing = Array.isArray(fields.missing) ? fields.missing.flatMap(missingPart) : undefined;
  return {
    ...stateOf(model?.problem === undefined ? fields : { ...fields, ok: undefined, status: 'degraded' }),
    model,
    missing,
    services: listOf(fields.services).flatMap((entry) => serviceLink(entry, pageUrl)),
    facts: factsOf(fields),
  };
}

type Fields = Record<string, unknown>;

const SHOWN_ELSEWHERE = ['ok', 'status', 'model', 'missing', 'services'];

function stateOf({ ok, status }: Fields): Pick<Health, 'state' | 'word'> {
  if (ok === true || status === 'ok') return { state: 'live', word: 'Live' };
  if (status === 'degraded') return { state: 'waiting', word: 'Degraded' };
  if (ok === false || status === 'starting') return { state: 'waiting', word: 'Not ready yet' };
  return { state: 'failed', word: typeof status === 'string' ? status : 'State unknown' };
}

function modelOf(value: unknown): HealthModel | undefined {
  if (typeof value === 'string' && value !== '')
    return { name: value, demo: false, url: undefined, problem: undefined };
  const { name, demo, url, problem } = recordOf(value);
  if (typeof name !== 'string') return undefined;
  return { name, demo: demo === true, url: textOf(url), problem: textOf(problem) };
}

function missingPart(value: unknown): MissingPart[] {
  const { what, variable, hint } = recordOf(value);
  return typeof what === 'string' ? [{ what, variable: textOf(variable), hint: textOf(hint) }] : [];
}

function serviceLink(value: unknown, pageUrl: string): ServiceLink[] {
  const { name, url, state } = recordOf(value);
  const known = SERVICE_NAMES.find((service) => service === name);
  if (known === undefined) return [];
  return [{ name: known, url: reachableUrl(textOf(url), pageUrl), state: lampOf(state) }];
}

function lampOf(state: unknown): LampState {
  if (state === 'live' || state === 'ok' || state === 'up') return 'live';
  if (state === 'starting' || state === 'waiting' || state === 'degraded') return 'waiting';
  return state === 'failed' ? 'failed' : 'idle';
}

// A service names its neighbours by loopback; a person on another machine reaches them by this page's host.
function reachableUrl(url: string | undefined, pageUrl: string): string | undefined {
  if (url === undefined || !URL.canParse(url)) return undefined;
  const target = new URL(url);
  if (!/^https?:$/.test(target.protocol)) return undefined;
  if (LOOPBACK.includes(target.hostname)) target.hostname = new URL(pageUrl).hostname;
  return target.href;
}

const LOOPBACK = ['localhost', '127.0.0.1', '0.0.0.0', '[::1]', '[::]'];

function factsOf(fields: Fields): Fact[] {
  const entries = Object.entries(fields).filter(([key]) => !SHOWN_ELSEWHERE.includes(key));
  return entries.flatMap(([key, value]) => {
    const inner = Object.entries(recordOf(value));
    return inner.length === 0
      ? factOf(key, value)
      : inner.flatMap(([name, part]) => factOf(`${key}.${name}`, part));
  });
}

function factOf(key: string, value: unknown): Fact[] {
  const words = wordsFor(value);
  return words === undefined ? [] : [{ key, value: words }];
}

function wordsFor(value: unknown): string | undefined {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number') return String(value);
  if (Array.isArray(value)) return value.map(nameOf).filter(Boolean).join(', ') || 'none';
  return textOf(value);
}

function nameOf(value: unknown): string {
  return textOf(value) ?? textOf(recordOf(value).name) ?? '';
}

function recordOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

type Labels = Readonly<Record<string, string>>;

/** What a field is called on the page: its label, else its own name made readable. */
export function labelFor(key: string, labels: Labels): string {
  const words = key.replaceAll(/[._]+/g, ' ');
  return labels[key] ?? words.charAt(0).toUpperCase() + words.slice(1);
}

/** The facts that have a label, in the order of the labels, and the others as they came. */
export function splitFacts(facts: readonly Fact[], labels: Labels): { named: Fact[]; others: Fact[] } {
  const named = Object.keys(labels).flatMap((key) => facts.filter((fact) => fact.key === key));
  return { named, others: facts.filter((fact) => labels[fact.key] === undefined) };
}

export interface HealthResource extends Omit<Resource<unknown>, 'body'> {
  /** Undefined before the first answer, and while the service is not reached. */
  health: Health | undefined;
}

/** The state of the page's own service, asked again every few seconds, once for all parts of the page. */
export function useHealth(): HealthResource {
  const store = storeOf(useApi());
  return useSyncExternalStore(store.subscribe, store.snapshot);
}

interface HealthStore {
  subscribe(listener: () => void): () => void;
  snapshot(): HealthResource;
}

const stores = new WeakMap<Api, HealthStore>();

function storeOf(api: Api): HealthStore {
  const known = stores.get(api) ?? createStore(api);
  stores.set(api, known);
  return known;
}

function createStore(api: Api): HealthStore {
  const listeners = new Set<() => void>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let leaving = new AbortController();
  let text: string | undefined;
  let resource: HealthResource = {
    health: undefined,
    error: undefined,
    loading: true,
    loadedAt: undefined,
    reload: () => void load(),
  };

  function change(changes: Partial<HealthResource>): void {
    resource = { ...resource, loading: false, ...changes };
    for (const listener of listeners) listener();
  }

  async function load(): Promise<void> {
    clearTimeout(timer);
    const { signal } = leaving;
    try {
      const body = await api.request<unknown>('/healthz', { signal, accept: ACCEPTED });
      const now = Date.now();
      const isSame = JSON.stringify(body) === text && resource.error === undefined;
      text = JSON.stringify(body);
      if (signal.aborted) return;
      if (!isSame)
        change({ health: readHealth(body, window.location.href), error: undefined, loadedAt: now });
      else if (now - (resource.loadedAt ?? 0) > TOLD_MS) change({ loadedAt: now });
    } catch (error) {
      if (signal.aborted) return;
      const failure = asApiError(error);
      if (resource.error?.message !== failure.message) change({ health: undefined, error: failure });
    }
    clearTimeout(timer);
    timer = setTimeout(() => document.visibilityState === 'visible' && void load(), REFRESH_MS);
  }

  // A page out of view does not ask; back in view it asks at once.
  const onVisible = () => document.visibilityState === 'visible' && void load();
  return {
    snapshot: () => resource,
    subscribe(listener) {
      listeners.add(listener);
      if (listeners.size === 1) {
        leaving = new AbortController();
        document.addEventListener('visibilitychange', onVisible, { signal: leaving.signal });
        void load();
      }
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        clearTimeout(timer);
        leaving.abort();
      };
    },
  };
}
