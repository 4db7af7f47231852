import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface InfisicalOptions {
  clientId: string;
  clientSecret: string;
  /** Values by `project/environment/path/NAME`. */
  secrets: Record<string, string>;
}

export interface InfisicalServer {
  url: string;
  /** May be changed while the server runs. */
  secrets: Map<string, string>;
  /** Paths with their query, in the order they were asked for. */
  requests: string[];
  /** The next answers: a status to fail with, or nothing at all. */
  fault: number | 'stall' | undefined;
  stop(): Promise<void>;
}

const token = 'access-token-of-the-fake';

/** A fake of Infisical's API on a real socket: universal login, and raw secrets by name. */
export async function startInfisical(options: InfisicalOptions): Promise<InfisicalServer> {
  const secrets = new Map(Object.entries(options.secrets));
  const requests: string[] = [];
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    requests.push(request.url ?? '');
    if (running.fault === 'stall') return;
    if (running.fault !== undefined) return send(response, running.fault, { message: 'out of order' });
    if (request.url === '/api/v1/auth/universal-auth/login') return logIn(response, body, options);
    if (request.headers.authorization !== `Bearer ${token}`)
      return send(response, 401, { message: 'Token missing' });
    return secret(response, new URL(request.url ?? '/', 'http://localhost'), secrets);
  }

  const running: InfisicalServer = {
    url: `http://127.0.0.1:${port}`,
    secrets,
    requests,
    fault: undefined,
    async stop() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
  return running;
}

function logIn(response: ServerResponse, body: string, { clientId, clientSecret }: InfisicalOptions): void {
  const given = JSON.parse(body) as { clientId?: string; clientSecret?: string };
  if (given.clientId !== clientId || given.clientSecret !== clientSecret)
    send(response, 401, { statusCode: 401, message: 'Invalid credentials', error: 'Unauthorized' });
  else
    send(response, 200, {
      accessToken: token,
      expiresIn: 7200,
      accessTokenMaxTTL: 43200,
      tokenType: 'Bearer',
    });
}

function secret(response: ServerResponse, url: URL, secrets: ReadonlyMap<string, string>): void {
  const name = /^\/api\/v3\/secrets\/raw\/([^/]+)$/.exec(url.pathname)?.[1];
  const { workspaceId, environment, secretPath } = Object.fromEntries(url.searchParams);
  const secretValue = secrets.get(`${workspaceId}/${environment}${secretPath}${name}`);
  if (name === undefined || secretValue === undefined)
    send(response, 404, { statusCode: 404, message: `Secret with name '${name}' not found` });
  else
    send(response, 200, {
      secret: { secretKey: name, secretValue, version: 1, type: 'shared', environment },
    });
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
