import { JsonServer, type ReceivedRequest } from '../json-server.ts';

export interface FakeGoogleOptions {
  clientId: string;
  clientSecret: string;
  refreshToken: string;
}

export interface GoogleFile {
  id: string;
  name: string;
  mimeType: string;
  parents: string[];
  content?: string;
}

export interface GoogleMail {
  id: string;
  threadId: string;
  labelIds: string[];
  from: string;
  subject: string;
  text: string;
  attachments?: { name: string; mediaType: string; bytes: Buffer }[];
  /** Headers beside those that follow from the rest. */
  headers?: Record<string, string>;
}

interface GoogleEvent {
  id: string;
  updated: string;
  [field: string]: unknown;
}

/** The parts of Google's token, Drive, Docs, Calendar and Gmail APIs that a workspace bot meets. */
export class FakeGoogle {
  readonly server = new JsonServer();
  readonly files: GoogleFile[] = [];
  readonly documents = new Map<string, { title: string; text: string }>();
  readonly labels = new Map([
    ['INBOX', 'INBOX'],
    ['Label_1', 'Support'],
  ]);
  readonly mails: GoogleMail[] = [];
  largestMailPage = 500;
  /** Mails that were sent, decoded. */
  readonly sent: { id: string; raw: string; threadId?: string }[] = [];
  /** Mails that are sent and answered with a failure. */
  lostAnswers = 0;
  readonly events: GoogleEvent[] = [];
  /** How often a token was given. */
  grants = 0;
  /** Refuses the refresh token from now on. */
  revoked = false;
  /** Refuses every access token that was given so far. */
  expireTokens(): void {
    this.#tokens.clear();
  }
  /** Changes of the calendar before this count can no longer be told. */
  forgottenBefore = 0;
  readonly #options: FakeGoogleOptions;
  readonly #tokens = new Set<string>();
  #next = 0;

  private constructor(options: FakeGoogleOptions) {
    this.#options = options;
    this.#mountToken();
    this.#mountDrive();
    this.#mountCalendar();
    this.#mountMail();
  }

  static async start(options: FakeGoogleOptions): Promise<FakeGoogle> {
    const fake = new FakeGoogle(options);
    await fake.server.listen();
    return fake;
  }

  get url(): string {
    return this.server.url;
  }

  stop(): Promise<void> {
    return this.server.stop();
  }

  #mountToken(): void {
    this.server.on('POST /token', ({ body }) => {
      const form = new URLSearchParams(String(body));
      const { clientId, clientSecret, refreshToken } = this.#options;
      const isKnown =
        form.get('client_id') === clientId &&
        form.get('client_secret') === clientSecret &&
        form.get('refresh_token') === refreshToken;
      if (this.revoked || !isKnown || form.get('grant_type') !== 'refresh_token')
        return {
          status: 400,
          body: { error: 'invalid_grant', error_description: 'Token has been expired or revoked.' },
        };
      this.grants += 1;
      const token = `ya29.${this.grants}`;
      this.#tokens.add(token);
      return { body: { access_token: token, expires_in: 3599, token_type: 'Bearer' } };
    });
  }

  #mountDrive(): void {
    const { server } = this;
    server.on('GET /drive/v3/files', (request) =>
      this.#guarded(request, () => {
        const [, name] = /name = '((?:\\.|[^'])*)'/.exec(request.query.get('q') ?? '') ?? [];
        const [, parent = ''] = /'([^']*)' in parents/.exec(request.query.get('q') ?? '') ?? [];
        const wanted = name?.replace(/\\(.)/g, '$1');
        const files = this.files.filter((file) => file.name === wanted && file.parents.includes(parent));
        return { body: { files } };
      }),
    );
    const create = (request: ReceivedRequest) =>
      this.#guarded(request, () => {
        const { name, mimeType, parents = [], content } = readUpload(request);
        const file = {
          id: this.#id('file'),
          name,
          mimeType,
          parents,
          ...(content !== undefined && { content }),
        };
        this.files.push(file);
        return { body: { id: file.id } };
      });
    server.on('POST /drive/v3/files', create);
    server.on('POST /upload/drive/v3/files', create);
    server.on('PATCH /drive/v3/files/:id', (request, { id = '' }) =>
      this.#guarded(request, () => {
        const { title = '' } = this.documents.get(id) ?? {};
        const parents = [request.query.get('addParents') ?? ''];
        this.files.push({ id, name: title, mimeType: 'application/vnd.google-apps.document', parents });
        return { body: { id } };
      }),
    );
    server.on('POST /v1/documents', (request) =>
      this.#guarded(request, () => {
        const { title } = request.body as { title: string };
        const documentId = this.#id('doc');
        this.documents.set(documentId, { title, text: '' });
        return { body: { documentId, title } };
      }),
    );
    server.on('POST /v1/documents/:id', (request, { id = '' }) =>
      this.#guarded(request, () => {
        const document = this.documents.get(id.replace(/:batchUpdate$/, ''));
        if (document === undefined)
          return { status: 404, body: googleError(404, 'Requested entity was not found.') };
        const { requests } = request.body as { requests: { insertText: { text: string } }[] };
        document.text += requests.map(({ insertText }) => insertText.text).join('');
        return { body: {} };
      }),
    );
  }

  #mountCalendar(): void {
    this.server.on('GET /calendar/v3/calendars/:id/events', (request) =>
      this.#guarded(request, () => {
        const from = Number(request.query.get('syncToken') ?? 0);
        if (request.query.has('syncToken') && from < this.forgottenBefore)
          return { status: 410, body: googleError(410, 'Sync token is no longer valid.') };
        const { items, nextPageToken } = pageOf(this.events.slice(from), request, 250);
        return {
          body: nextPageToken
            ? { items, nextPageToken }
            : { items, nextSyncToken: String(this.events.length) },
        };
      }),
    );
  }

  #mountMail(): void {
    const { server } = this;
    server.on('GET /gmail/v1/users/me/labels', (request) =>
      this.#guarded(request, () => ({
        body: { labels: [...this.labels].map(([id, name]) => ({ id, name })) },
      })),
    );
    server.on('GET /gmail/v1/users/me/messages', (request) =>
      this.#guarded(request, () => {
        const label = request.query.get('labelIds') ?? '';
        const found = this.mails.filter(({ labelIds }) => labelIds.includes(label)).toReversed();
        const { items, nextPageToken } = pageOf(found, request, 100, this.largestMailPage);
        return { body: { messages: items.map(({ id, threadId }) => ({ id, threadId })), nextPageToken } };
      }),
    );
    server.on('GET /gmail/v1/users/me/messages/:id', (request, { id }) =>
      this.#guarded(request, () => {
        const mail = this.mails.find((each) => each.id === id);
        if (mail === undefined)
          return { status: 404, body: googleError(404, 'Requested entity was not found.') };
        return { body: mailBody(mail) };
      }),
    );
    server.on('GET /gmail/v1/users/me/messages/:id/attachments/:file', (request, { id, file }) =>
      this.#guarded(request, () => {
        const { bytes } = this.mails.find((each) => each.id === id)?.attachments?.[Number(file)] ?? {};
        if (bytes === undefined) return { status: 404, body: googleError(404, 'Not found.') };
        return { body: { size: bytes.length, data: bytes.toString('base64url') } };
      }),
    );
    server.on('POST /upload/gmail/v1/users/me/messages/send', (request) =>
      this.#guarded(request, () => {
        const { threadId, content = '' } = readUpload(request) as { threadId?: string; content?: string };
        return this.#send(content, threadId);
      }),
    );
    server.on('POST /gmail/v1/users/me/messages/send', (request) =>
      this.#guarded(request, () => {
        const { raw, threadId } = request.body as { raw: string; threadId?: string };
        return this.#send(Buffer.from(raw, 'base64url').toString(), threadId);
      }),
    );
    server.on('GET /gmail/v1/users/me/threads/:id', (request, { id }) =>
      this.#guarded(request, () => {
        const inbound = this.mails.filter(({ threadId }) => threadId === id).map(mailBody);
        const sent = this.sent.filter(({ threadId }) => threadId === id).map(sentBody);
        return { body: { id, messages: [...inbound, ...sent] } };
      }),
    );
  }

  #send(raw: string, threadId: string | undefined) {
    const id = this.#id('sent');
    this.sent.push({ id, raw, ...(threadId !== undefined && { threadId }) });
    if (this.lostAnswers === 0) return { body: { id, threadId } };
    this.lostAnswers -= 1;
    return { status: 503, body: googleError(503, 'The service is currently unavailable.') };
  }

  #guarded<Reply>({ headers }: ReceivedRequest, answer: () => Reply) {
    const token = /^bearer (.+)$/i.exec(headers.authorization ?? '')?.[1] ?? '';
    if (this.#tokens.has(token)) return answer();
    return { status: 401, body: googleError(401, 'Invalid Credentials') };
  }

  #id(kind: string): string {
    this.#next += 1;
    return `${kind}-${this.#next}`;
  }
}

/** The part of a list that a request asks for, and where the next one begins. */
function pageOf<Item>(items: readonly Item[], { query }: ReceivedRequest, usual: number, most = 2500) {
  const from = Number(query.get('pageToken') ?? 0);
  const end = from + Math.min(most, Number(query.get('maxResults') ?? usual));
  return { items: items.slice(from, end), nextPageToken: end < items.length ? String(end) : undefined };
}

function googleError(code: number, message: string) {
  return { error: { code, message, errors: [{ message }] } };
}

/** As Gmail shows what it has sent: under a Message-ID of its own, with the one that it was given beside it. */
function sentBody({ id, raw, threadId }: FakeGoogle['sent'][number]) {
  const [, given = ''] = /^Message-ID: (.+)$/im.exec(raw) ?? [];
  const headers = [
    { name: 'Message-ID', value: `<${id}@mail>` },
    { name: 'X-Google-Original-Message-ID', value: given.trim() },
  ];
  return { id, threadId, payload: { headers } };
}

function mailBody({
  id,
  threadId,
  labelIds,
  from,
  subject,
  text,
  attachments = [],
  headers: more = {},
}: GoogleMail) {
  const headers = [
    ...Object.entries(more).map(([name, value]) => ({ name, value })),
    { name: 'From', value: from },
    { name: 'Subject', value: subject },
    { name: 'Message-ID', value: `<${id}@mail>` },
  ];
  const plain = { mimeType: 'text/plain', body: { data: Buffer.from(text).toString('base64url') } };
  const html = { mimeType: 'text/html', body: { data: Buffer.from(`<p>${text}</p>`).toString('base64url') } };
  const files = attachments.map(({ name, mediaType, bytes }, index) => ({
    filename: name,
    mimeType: mediaType,
    body: { attachmentId: String(index), size: bytes.length },
  }));
  const body = { mimeType: 'multipart/alternative', parts: [html, plain] };
  const payload =
    files.length === 0
      ? { ...body, headers }
      : { mimeType: 'multipart/mixed', headers, parts: [body, ...files] };
  return { id, threadId, labelIds, snippet: text.slice(0, 50), payload };
}

/** Metadata alone, or metadata and content in two parts. */
function readUpload({ body, headers }: ReceivedRequest): Omit<GoogleFile, 'id'> {
  const boundary = /boundary=(.+)$/.exec(headers['content-type'] ?? '')?.[1];
  if (boundary === undefined) return body as GoogleFile;
  const parts = String(body)
    .split(`--${boundary.replaceAll('"', '')}`)
    .slice(1, 3);
  const [metadata = '', media = ''] = parts.map((part) =>
    part.replace(/^[\s\S]*?\r?\n\r?\n/, '').replace(/\r?\n$/, ''),
  );
  const mimeType = /content-type: *([^\r\n]+)/i.exec(parts[1] ?? '')?.[1] ?? '';
  return { ...(JSON.parse(metadata) as Omit<GoogleFile, 'mimeType'>), mimeType, content: media };
}
