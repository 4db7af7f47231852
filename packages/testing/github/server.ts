import { createHmac, createPublicKey, randomUUID, verify } from 'node:crypto';
import { JsonServer, type ReceivedRequest } from '../json-server.ts';

export interface FakeGitHubOptions {
  token: string;
  /** Login of the token's owner. */
  login?: string;
  /** Apps that may sign in, by id, with their public keys in PEM. */
  apps?: Record<string, { publicKey: string; slug: string }>;
}

export interface GitHubPost {
  kind: 'comment' | 'review' | 'reply';
  repo: string;
  number: number;
  body: string;
  /** Who wrote it: the login of the token, or `slug[bot]`. */
  author: string;
  event?: string;
  inReplyTo?: number;
}

interface Hook {
  id: number;
  active: boolean;
  events: string[];
  config: { url: string; content_type?: string; secret?: string };
}

export interface HookDelivery {
  secret?: string;
  id?: string;
  signature?: string;
}

/** The parts of GitHub's REST API that a bot meets, and the sender of its webhooks. */
export class FakeGitHub {
  readonly server = new JsonServer();
  readonly posts: GitHubPost[] = [];
  /** Of so many posts that come next the answer is lost, after they were stored. */
  lostAnswers = 0;
  readonly reactions: { on: string; content: string; author: string }[] = [];
  readonly hooks = new Map<string, Hook[]>();
  readonly #options: FakeGitHubOptions;
  readonly #installations = new Map<string, string>();
  /** What can be listed. */
  readonly #standing: (Omit<GitHubPost, 'author'> & { id: number; html_url: string })[] = [];
  #next = 1000;

  private constructor(options: FakeGitHubOptions) {
    this.#options = options;
    this.#mountPosts();
    this.#mountHooks();
    this.#mountIdentity();
  }

  static async start(options: FakeGitHubOptions): Promise<FakeGitHub> {
    const fake = new FakeGitHub(options);
    await fake.server.listen();
    return fake;
  }

  get url(): string {
    return this.server.url;
  }

  stop(): Promise<void> {
    return this.server.stop();
  }

  /** Sends a webhook as GitHub does, signed with the secret. */
  async deliver(
    target: string,
    event: string,
    payload: unknown,
    options: HookDelivery = {},
  ): Promise<Response> {
    const body = typeof payload === 'string' ? payload : JSON.stringify(payload);
    const { secret, id = randomUUID() } = options;
    const signed = secret && `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
    const signature = options.signature ?? signed;
    return await fetch(target, {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        'x-github-event': event,
        'x-github-delivery': id,
        ...(signature && { 'x-hub-signature-256': signature }),
      },
    });
  }

  #mountPosts(): void {
    const { server } = this;
    server.on('POST /repos/:owner/:repo/issues/:number/comments', (request, at) =>
      this.#post(request, { kind: 'comment', ...place(at) }),
    );
    server.on('POST /repos/:owner/:repo/pulls/:number/reviews', (request, at) => {
      const { event } = request.body as { event: string };
      return this.#post(request, { kind: 'review', ...place(at), event });
    });
    server.on('POST /repos/:owner/:repo/pulls/:number/comments/:comment/replies', (request, at) =>
      this.#post(request, { kind: 'reply', ...place(at), inReplyTo: Number(at.comment) }),
    );
    for (const [path, kind] of Object.entries(listed))
      server.on(`GET /repos/:owner/:repo/${path}`, (request, at) => {
        if (this.#author(request) === undefined) return unauthorized;
        const { repo, number } = place(at);
        const isHere = (post: { kind: string; repo: string; number: number }) =>
          post.kind === kind && post.repo === repo && post.number === number;
        return {
          body: this.#standing.filter(isHere).map(({ id, body, html_url }) => ({ id, body, html_url })),
        };
      });
    for (const on of ['issues/comments/:id', 'pulls/comments/:id', 'issues/:id']) {
      server.on(`POST /repos/:owner/:repo/${on}/reactions`, (request) => {
        const author = this.#author(request);
        if (author === undefined) return unauthorized;
        const { content } = request.body as { content: string };
        this.reactions.push({ on: request.path.replace(/\/reactions$/, ''), content, author });
        return { status: 201, body: { id: this.#id(), content } };
      });
    }
  }

  #mountHooks(): void {
    this.server.on('GET /repos/:owner/:repo/hooks', (request, { owner, repo }) =>
      this.#author(request) === undefined ? unauthorized : { body: this.hooks.get(`${owner}/${repo}`) ?? [] },
    );
    this.server.on('POST /repos/:owner/:repo/hooks', (request, { owner, repo }) => {
      if (this.#author(request) === undefined) return unauthorized;
      const { events, active, config } = request.body as Hook;
      const hook = { id: this.#id(), active, events, config };
      this.hooks.set(`${owner}/${repo}`, [...(this.hooks.get(`${owner}/${repo}`) ?? []), hook]);
      return { status: 201, body: hook };
    });
  }

  #mountIdentity(): void {
    const { server } = this;
    server.on('GET /user', (request) => {
      const login = this.#author(request);
      return login === undefined ? unauthorized : { body: { login, id: 1 } };
    });
    server.on('GET /app', (request) => {
      const app = this.#app(request);
      return app === undefined ? unauthorized : { body: { id: Number(app.id), slug: app.slug } };
    });
    server.on('GET /repos/:owner/:repo/installation', (request) => {
      const app = this.#app(request);
      return app === undefined ? unauthorized : { body: { id: Number(app.id) * 10 } };
    });
    server.on('POST /app/installations/:installation/access_tokens', (request) => {
      const app = this.#app(request);
      if (app === undefined) return unauthorized;
      const token = `ghs_${randomUUID()}`;
      this.#installations.set(token, `${app.slug}[bot]`);
      const expires_at = new Date(Date.now() + 3_600_000).toISOString();
      return { status: 201, body: { token, expires_at, permissions: {}, repository_selection: 'all' } };
    });
  }

  #post(request: ReceivedRequest, post: Omit<GitHubPost, 'author' | 'body'>) {
    const author = this.#author(request);
    if (author === undefined) return unauthorized;
    const { body } = request.body as { body: string };
    if (body.length > 65_536)
      return { status: 422, body: { message: 'body is too long (maximum is 65536 characters)' } };
    const id = this.#id();
    const html_url = `https://github.com/${post.repo}/pull/${post.number}#${post.kind}-${id}`;
    this.posts.push({ ...post, body, author });
    this.#standing.push({ ...post, id, body, html_url });
    this.lostAnswers -= 1;
    if (this.lostAnswers >= 0) return 'cut' as const;
    return { status: post.kind === 'review' ? 200 : 201, body: { id, body, html_url } };
  }

  #author({ headers }: ReceivedRequest): string | undefined {
    const token = /^(?:token|bearer) (.+)$/i.exec(headers.authorization ?? '')?.[1] ?? '';
    if (token === this.#options.token) return this.#options.login ?? 'octo-user';
    return this.#installations.get(token);
  }

  /** The app whose JWT the request shows, its signature checked. */
  #app({ headers }: ReceivedRequest): { id: string; slug: string } | undefined {
    const token = /^bearer (.+)$/i.exec(headers.authorization ?? '')?.[1] ?? '';
    const [head, body, signature] = token.split('.');
    if (head === undefined || body === undefined || signature === undefined) return undefined;
    const { iss } = JSON.parse(Buffer.from(body, 'base64url').toString()) as { iss: string | number };
    const app = this.#options.apps?.[String(iss)];
    if (app === undefined) return undefined;
    const isGood = verify(
      'RSA-SHA256',
      Buffer.from(`${head}.${body}`),
      createPublicKey(app.publicKey),
      Buffer.from(signature, 'base64url'),
    );
    return isGood ? { id: String(iss), slug: app.slug } : undefined;
  }

  #id(): number {
    this.#next += 1;
    return this.#next;
  }
}

/** Lists of what was written. */
const listed = {
  'issues/:number/comments': 'comment',
  'pulls/:number/comments': 'reply',
  'pulls/:number/reviews': 'review',
};

const unauthorized = { status: 401, body: { message: 'Bad credentials' } };

function place({ owner, repo, number }: Record<string, string>): { repo: string; number: number } {
  return { repo: `${owner}/${repo}`, number: Number(number) };
}
