import { group, integer, text, url } from '@trunkline/config';
import { fetchOnNewConnection } from '@trunkline/http';
import { limitBody } from '@trunkline/std';
import type { App, Octokit } from 'octokit';
import type { Repositories } from '../../onboarding/pipeline.ts';
import { DeliveryError, retryAfterMs } from '../delivery/outbox.ts';
import type { SurfaceOptions } from '../surface.ts';

export interface AppIdentity {
  id: string;
  privateKey: string;
}

export interface ClientSettings {
  /** Undefined when only an app signs in. */
  token: string | undefined;
  apiUrl: string;
  app: AppIdentity | undefined;
  chainApp: AppIdentity | undefined;
}

/** Who writes: the app or token, or the app for chained answers. */
export type Identity = 'reply' | 'chain';

const callMs = 20_000;
/** More than a page of any list. */
const largestBytes = 20 * 2 ** 20;
/** The wait after a limit that names none. */
const unnamedWaitMs = 60_000;

export class CodehostClients {
  readonly #settings: ClientSettings;
  readonly #library: typeof import('octokit');
  readonly #byToken: Octokit;
  readonly #apps = new Map<AppIdentity, App>();

  private constructor(settings: ClientSettings, library: typeof import('octokit')) {
    this.#settings = settings;
    this.#library = library;
    const { Octokit } = library;
    this.#byToken = new Octokit({ ...(settings.token && { auth: settings.token }), ...this.#common() });
  }

  /** Loads the large library on first use. */
  static async open(settings: ClientSettings): Promise<CodehostClients> {
    return new CodehostClients(settings, await import('octokit'));
  }

  async of(owner: string, repo: string, identity: Identity): Promise<Octokit> {
    const { app, chainApp } = this.#settings;
    const chosen = (identity === 'chain' ? chainApp : undefined) ?? app;
    if (chosen === undefined) return this.#byToken;
    const application = this.#appOf(chosen);
    const { data } = await application.octokit.rest.apps.getRepoInstallation({ owner, repo });
    return await application.getInstallationOctokit(data.id);
  }

  /** Our own logins: their comments are not answered. */
  async logins(signal: AbortSignal): Promise<string[]> {
    const request = { signal };
    const { data } = await this.#byToken.rest.users.getAuthenticated({ request });
    const apps = [this.#settings.app, this.#settings.chainApp].filter((app) => app !== undefined);
    const slugs = apps.map(async (app) => {
      const answer = await this.#appOf(app).octokit.rest.apps.getAuthenticated({ request });
      return `${answer.data?.slug ?? ''}[bot]`;
    });
    return [data.login, ...(await Promise.all(slugs))];
  }

  #appOf(identity: AppIdentity): App {
    const known = this.#apps.get(identity);
    if (known !== undefined) return known;
    const { App, Octokit } = this.#library;
    const app = new App({
      appId: identity.id,
      privateKey: identity.privateKey,
      Octokit: Octokit.defaults(this.#common()),
    });
    this.#apps.set(identity, app);
    return app;
  }

  /** The outbox retries and records. */
  #common() {
    return {
      baseUrl: this.#settings.apiUrl,
      retry: { enabled: false },
      throttle: { enabled: false },
      request: { fetch: limitedFetch },
      log: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
    };
  }
}

export function clientSettings(options: CodehostOptions): ClientSettings {
  return {
    token: options.codehostToken,
    apiUrl: options.codehostApiUrl,
    app: identityOf(options.codehostAppId, options.codehostAppPrivateKey),
    chainApp: identityOf(options.chainAppId, options.chainAppPrivateKey),
  };
}

/** Keys from one line of an environment file have escaped line breaks. */
function identityOf(id: string | undefined, key: string | undefined) {
  if (id === undefined || key === undefined) return undefined;
  return { id, privateKey: key.replaceAll('\\n', '\n') };
}

/** Limits the time and the answer of every call. What writes must not go over a connection that the host may just be closing. */
async function limitedFetch(input: string, init: RequestInit = {}): Promise<Response> {
  const limit = AbortSignal.timeout(callMs);
  const send = (init.method ?? 'GET') === 'GET' ? fetch : fetchOnNewConnection;
  const signal = init.signal ? AbortSignal.any([init.signal, limit]) : limit;
  return limitBody(await send(input, { ...init, signal }), { maxBytes: largestBytes });
}

export function codehostFailure(error: unknown): DeliveryError {
  const { status, message, response } = error as {
    status?: number;
    message?: string;
    response?: { headers?: Record<string, string | undefined> };
  };
  const words = `The code host answered${status === undefined ? '' : ` ${status}`}: ${message ?? String(error)}`;
  const wait = retryAfter(response?.headers ?? {}) ?? (isSecondaryLimit(message) ? unnamedWaitMs : undefined);
  const isLimit = status === 429 || (status === 403 && wait !== undefined);
  const permanent = status !== undefined && status >= 400 && status < 500 && !isLimit && status !== 408;
  return new DeliveryError(words, { permanent, retryAfterMs: wait, cause: error });
}

function retryAfter(headers: Record<string, string | undefined>): number | undefined {
  const named = retryAfterMs(headers['retry-after']);
  if (named !== undefined) return named;
  if (headers['x-ratelimit-remaining'] !== '0') return undefined;
  const reset = Number(headers['x-ratelimit-reset'] ?? Number.NaN);
  return Number.isFinite(reset) ? Math.max(0, reset * 1000 - Date.now()) : unnamedWaitMs;
}

/** A plain 403, often without a wait time. */
function isSecondaryLimit(message: string | undefined): boolean {
  return /secondary rate limit|abuse detection/i.test(message ?? '');
}

/** Registers webhooks as the app or by the token. */
export function createWebhookRegistry(options: CodehostOptions): Repositories {
  const { codehostToken: token, codehostAppId: appId, codehostWebhookSecret: secret } = options;
  let clients: Promise<CodehostClients> | undefined;
  return {
    off:
      token === undefined && appId === undefined
        ? 'neither CODEHOST_TOKEN nor CODEHOST_APP_ID is set'
        : undefined,
    async ensureWebhook({ owner, repo }, { url, events }, signal) {
      clients ??= CodehostClients.open(clientSettings(options));
      const request = { signal };
      try {
        const octokit = await (await clients).of(owner, repo, 'reply');
        const hooks = await octokit.paginate(octokit.rest.repos.listWebhooks, {
          owner,
          repo,
          per_page: 100,
          request,
        });
        if (hooks.some(({ config }) => config.url === url)) return 'exists';
        const config = { url, content_type: 'json', ...(secret !== undefined && { secret }) };
        await octokit.rest.repos.createWebhook({
          owner,
          repo,
          events: [...events],
          active: true,
          config,
          request,
        });
        return 'created';
      } catch (error) {
        throw codehostFailure(error);
      }
    },
  };
}

export const codehostOptions = group('Code host (GitHub)', {
  codehostToken: text({
    env: 'CODEHOST_TOKEN',
    secret: true,
    doc: 'GitHub token. It connects the code host and writes comments.',
  }),
  codehostWebhookSecret: text({
    env: 'CODEHOST_WEBHOOK_SECRET',
    secret: true,
    doc: "Secret that signs GitHub's webhooks. Without it they are refused.",
  }),
  codehostWebhookPort: integer({
    env: 'CODEHOST_WEBHOOK_PORT',
    default: 8082,
    min: 0,
    max: 65_535,
    doc: "Port that receives GitHub's webhooks.",
  }),
  codehostAppId: text({ env: 'CODEHOST_APP_ID', doc: 'GitHub App that writes the comments.' }),
  codehostAppPrivateKey: text({
    env: 'CODEHOST_APP_PRIVATE_KEY',
    secret: true,
    doc: 'Private key of that app in PEM (PKCS#1).',
  }),
  chainAppId: text({
    env: 'CHAIN_APP_ID',
    doc: 'GitHub App that writes the answers of chained agents.',
  }),
  chainAppPrivateKey: text({
    env: 'CHAIN_APP_PRIVATE_KEY',
    secret: true,
    doc: 'Private key of that app in PEM (PKCS#1).',
  }),
  codehostApiUrl: url({
    env: 'CODEHOST_API_URL',
    default: 'https://api.github.com',
    doc: 'Address of the GitHub API. Change it for GitHub Enterprise.',
  }),
});

export type CodehostOptions = SurfaceOptions<typeof codehostOptions>;
