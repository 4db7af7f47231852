import { createHmac, randomUUID } from 'node:crypto';
import { JsonServer, type ReceivedRequest } from '../json-server.ts';

export interface FakeLinearOptions {
  apiKey?: string;
  oauth?: { clientId: string; clientSecret: string; refreshToken: string };
}

interface Mutation {
  name: string;
  input: Record<string, unknown>;
  id?: string;
}

export interface LinearDelivery {
  secret?: string;
  id?: string;
  signature?: string;
}

/** What each mutation answers with. */
const results: Record<string, string> = {
  issueCreate: 'issue',
  issueUpdate: 'issue',
  commentCreate: 'comment',
  agentActivityCreate: 'agentActivity',
};

/** The parts of Linear's GraphQL API and OAuth that a bot meets, and the sender of its webhooks. */
export class FakeLinear {
  readonly server = new JsonServer();
  readonly mutations: Mutation[] = [];
  /** So many of the next mutations are stored, and the connection is cut in place of an answer. */
  lostAnswers = 0;
  /** Stored files by their path; they are given out to whoever shows the credentials of the API. */
  readonly uploads = new Map<string, Buffer>();
  /** The refresh token that works now: each works once. */
  refreshToken: string;
  grants = 0;
  revoked = false;
  readonly #options: FakeLinearOptions;
  #accessToken: string | undefined;
  /** Of what was created. */
  readonly #ids = new Set<unknown>();

  private constructor(options: FakeLinearOptions) {
    this.#options = options;
    this.refreshToken = options.oauth?.refreshToken ?? '';
    this.server.on('POST /graphql', (request) => this.#mutate(request));
    this.server.on('PUT /uploads/:name', ({ path, bytes, headers }) => {
      if (headers['x-goog-signed'] !== 'yes') return { status: 403, body: 'SignatureDoesNotMatch' };
      this.uploads.set(path, bytes);
      return {};
    });
    this.server.on('GET /uploads/:name', ({ path, headers }) => {
      if (!this.#knows(headers.authorization)) return { status: 401, body: 'Unauthorized' };
      const body = this.uploads.get(path);
      return body === undefined ? { status: 404, body: 'Not Found' } : { body };
    });
    this.server.on('POST /oauth/token', (request) => this.#grant(request));
  }

  static async start(options: FakeLinearOptions): Promise<FakeLinear> {
    const fake = new FakeLinear(options);
    await fake.server.listen();
    return fake;
  }

  get url(): string {
    return this.server.url;
  }

  stop(): Promise<void> {
    return this.server.stop();
  }

  expireToken(): void {
    this.#accessToken = undefined;
  }

  /** Sends a webhook as Linear does. */
  async deliver(
    target: string,
    payload: unknown,
    { secret, id = randomUUID(), signature }: LinearDelivery = {},
  ) {
    const body = typeof payload === 'string' ? payload : JSON.stringify(payload);
    const signed = signature ?? (secret && createHmac('sha256', secret).update(body).digest('hex'));
    return await fetch(target, {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        'linear-delivery': id,
        ...(signed && { 'linear-signature': signed }),
      },
    });
  }

  #mutate(request: ReceivedRequest) {
    if (!this.#knows(request.headers.authorization)) {
      const error = { message: 'Authentication required', extensions: { type: 'authentication error' } };
      return { status: 401, body: { errors: [error] } };
    }
    const { query, variables } = request.body as { query: string; variables: Record<string, unknown> };
    if (/\bviewer\b/.test(query))
      return { body: { data: { viewer: { id: 'me', name: 'Trunk', active: true } } } };
    if (query.includes('fileUpload(')) {
      const { filename, contentType, size } = variables;
      const url = `${this.url}/uploads/${encodeURIComponent(String(filename))}`;
      const headers = [{ key: 'x-goog-signed', value: 'yes' }];
      const uploadFile = { uploadUrl: url, assetUrl: url, headers, filename, contentType, size };
      return { body: { data: { fileUpload: { lastSyncId: 1, success: true, uploadFile } } } };
    }
    const name = Object.keys(results).find((each) => query.includes(`${each}(`));
    if (name === undefined) return { status: 400, body: { errors: [{ message: 'Unknown operation' }] } };
    const input = variables.input as Record<string, unknown>;
    const id = typeof variables.id === 'string' ? variables.id : undefined;
    const kind = results[name] ?? '';
    if (name.endsWith('Create') && this.#ids.has(input.id)) return { body: conflict(kind, input.id) };
    this.mutations.push({ name, input, ...(id !== undefined && { id }) });
    const made = { id: id ?? (input.id as string | undefined) ?? randomUUID() };
    this.#ids.add(made.id);
    this.lostAnswers -= 1;
    if (this.lostAnswers >= 0) return 'cut' as const;
    return { body: { data: { [name]: { lastSyncId: 1, success: true, [kind]: made } } } };
  }

  #grant({ body }: ReceivedRequest) {
    const form = new URLSearchParams(String(body));
    const { clientId, clientSecret } = this.#options.oauth ?? {};
    const isGood =
      !this.revoked &&
      form.get('client_id') === clientId &&
      form.get('client_secret') === clientSecret &&
      form.get('refresh_token') === this.refreshToken;
    if (!isGood) return { status: 400, body: { error: 'invalid_grant' } };
    this.grants += 1;
    this.refreshToken = `refresh-${this.grants}`;
    this.#accessToken = `access-${this.grants}`;
    return {
      body: { access_token: this.#accessToken, expires_in: 86_399, refresh_token: this.refreshToken },
    };
  }

  #knows(authorization: string | undefined): boolean {
    const { apiKey } = this.#options;
    if (apiKey !== undefined && authorization === apiKey) return true;
    return this.#accessToken !== undefined && authorization === `Bearer ${this.#accessToken}`;
  }
}

/** What Linear answers, with status 200, when something with the id is there already. */
function conflict(kind: string, id: unknown) {
  const entity = kind.replace(/^./, (first) => first.toUpperCase());
  const extensions = {
    type: 'invalid input',
    code: 'INPUT_ERROR',
    statusCode: 400,
    userError: true,
    userPresentableMessage: `Entity ${entity} with id ${String(id)} already exists.`,
  };
  return { data: null, errors: [{ message: `conflict on insert of ${entity}`, extensions }] };
}
