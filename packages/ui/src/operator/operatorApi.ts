import { SERVICE_NAMES, type ServiceName } from '../shell/services.tsx';

/** What a service says about the operator: whether this browser is signed in, and where the key stands. */
export interface OperatorStatus {
  /**
   * "unknown": not asked yet, or a service without an operator. "open": TRUNKLINE_OPEN=1, everybody may do everything.
   */
  name: 'unknown' | 'open' | 'signed-in' | 'signed-out';
  keyFile: string;
  /** Which service answered, and where its first page is. */
  service: ServiceName | undefined;
  home: string;
  /** The role of the account that this browser is signed in with; undefined for the operator's key, and for nobody. */
  role: string | undefined;
  /** Another place to sign in at: what it is called, and the address that leads there. */
  provider: { name: string; login: string } | undefined;
}

export const UNKNOWN: OperatorStatus = {
  name: 'unknown',
  keyFile: '',
  service: undefined,
  home: '/',
  role: undefined,
  provider: undefined,
};

/** The code of answers to requests that only the operator may make. */
export const OPERATOR_REQUIRED = 'operator_required';

const TIME_LIMIT_MS = 10_000;

export async function readOperatorStatus(): Promise<OperatorStatus> {
  try {
    const response = await ask('GET');
    return response.ok ? statusIn(await response.json()) : UNKNOWN;
  } catch {
    // The page tells by itself that its service does not answer.
    return UNKNOWN;
  }
}

/** Why the key was not taken; undefined when the browser is signed in now. */
export async function signInWithKey(key: string): Promise<string | undefined> {
  try {
    const response = await ask('POST', JSON.stringify({ key }));
    if (response.ok) return undefined;
    if (response.status === 429)
      return `Too many wrong keys. Wait ${response.headers.get('retry-after') ?? '60'} seconds and try again.`;
    return "This is not the operator's key.";
  } catch {
    return 'The service does not answer. Check that it runs, then try again.';
  }
}

/** Gives the address where the browser signs out of the provider as well, if it offers one. */
export async function signOutOperator(): Promise<string | undefined> {
  const { sign_out_url: url } = (await (await ask('DELETE')).json()) as Record<string, unknown>;
  return typeof url === 'string' ? url : undefined;
}

/** Leads to the provider, and from there back to this page. */
export function loginAddress({ login }: { login: string }): string {
  const { pathname, search, hash } = window.location;
  return `${login}?return=${encodeURIComponent(pathname + search + hash)}`;
}

function ask(method: string, body?: string): Promise<Response> {
  const headers = { accept: 'application/json', ...(body && { 'content-type': 'application/json' }) };
  const signal = AbortSignal.timeout(TIME_LIMIT_MS);
  return fetch('/operator', { method, headers, signal, ...(body && { body }) });
}

function statusIn(body: unknown): OperatorStatus {
  const {
    operator,
    open,
    key_file: keyFile,
    service,
    home,
    role,
    provider,
  } = body as Record<string, unknown>;
  return {
    name: nameOf(operator, open),
    keyFile: typeof keyFile === 'string' ? keyFile : '',
    service: SERVICE_NAMES.find((name) => name === service),
    home: typeof home === 'string' ? home : '/',
    role: typeof role === 'string' ? role : undefined,
    provider: provider ? (provider as OperatorStatus['provider']) : undefined,
  };
}

function nameOf(operator: unknown, open: unknown): OperatorStatus['name'] {
  if (open === true) return 'open';
  if (typeof operator !== 'boolean') return 'unknown';
  return operator ? 'signed-in' : 'signed-out';
}
