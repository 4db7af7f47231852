import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ClientMetadata } from 'oidc-provider';

export const oidcClient = { id: 'trunkline', secret: 'secret-of-the-oidc-client' } as const;
/** A client without a secret. */
export const publicOidcClient = 'trunkline-public';

const CALLBACK_PATH = '/operator/oidc/callback';

/** What the provider says of a person, by the name that they sign in with. */
export type OidcPeople = Record<string, Readonly<Record<string, unknown>>>;

export interface OidcTestProvider {
  readonly issuer: string;
  stop(): Promise<void>;
}

/** A real OpenID Connect provider on loopback, whose own pages take any password. */
export async function startOidcProvider(people: OidcPeople): Promise<OidcTestProvider> {
  const { Provider } = await import('oidc-provider');
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = {
    // A client on loopback may have any port.
    application_type: 'native',
    redirect_uris: ['127.0.0.1', 'localhost'].map((host) => `http://${host}${CALLBACK_PATH}`),
    post_logout_redirect_uris: ['http://127.0.0.1/'],
  } satisfies Partial<ClientMetadata>;
  const provider = new Provider(issuer, {
    clients: [
      { ...client, client_id: oidcClient.id, client_secret: oidcClient.secret },
      { ...client, client_id: publicOidcClient, token_endpoint_auth_method: 'none' },
    ],
    claims: { openid: ['sub'], profile: ['name', 'groups'], email: ['email', 'email_verified'] },
    ttl: { Interaction: 600, Session: 600, Grant: 600, AccessToken: 600, IdToken: 600 },
    cookies: { keys: ['key-of-the-cookies'] },
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id, ...people[id] }) }),
  });
  const answer = provider.callback();
  server.on('request', (request, response) => void answer(request, response));
  return {
    issuer,
    async stop() {
      server.closeAllConnections();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** As much of a browser as signing in needs: redirects that can be watched, and cookies of each origin. */
export class RedirectBrowser {
  readonly #cookies = new Map<string, Map<string, string>>();

  async go(address: string, init: RequestInit = {}): Promise<Response> {
    const { origin } = new URL(address);
    const jar = this.#cookies.get(origin) ?? new Map<string, string>();
    this.#cookies.set(origin, jar);
    const headers = new Headers(init.headers);
    headers.set('cookie', [...jar].map(([name, value]) => `${name}=${value}`).join('; '));
    const response = await fetch(address, { ...init, headers, redirect: 'manual' });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (value === '' || /;\s*max-age=0/i.test(cookie)) jar.delete(name);
      else jar.set(name, value);
    }
    return response;
  }

  /** Signs in and consents on the pages of the provider; gives the address that they lead back to, which was not opened yet. */
  async authorize(authorizationUrl: string, login: string): Promise<string> {
    let [url, init]: [string, RequestInit] = [authorizationUrl, {}];
    for (let hop = 0; hop < 20; hop += 1) {
      const response = await this.go(url, init);
      const location = response.headers.get('location');
      init = {};
      if (location !== null) {
        url = new URL(location, url).href;
        if (new URL(url).pathname === CALLBACK_PATH) return url;
        continue;
      }
      const html = await response.text();
      const [prompt, action] = [
        /name="prompt" value="(\w+)"/.exec(html)?.[1],
        /action="([^"]+)"/.exec(html)?.[1],
      ];
      if (prompt === undefined || action === undefined)
        throw new Error(`no form at ${url}: ${html.slice(0, 500)}`);
      url = new URL(action, url).href;
      init = { method: 'POST', body: new URLSearchParams({ prompt, login, password: 'any' }) };
    }
    throw new Error('the provider leads in a circle');
  }
}
