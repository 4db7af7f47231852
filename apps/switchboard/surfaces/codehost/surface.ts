import type { Draft } from '@trunkline/bus';
import { parseJson } from '@trunkline/http';
import { plainName } from '@trunkline/std';
import type { FileSource } from '../../content/references.ts';
import { fromOutside } from '../../core/messages.ts';
import { fieldsOf, text } from '../../dispatch/request.ts';
import { type FileHost, linkedFiles } from '../linked-files.ts';
import { defineSurface } from '../surface.ts';
import { AcceptedWebhooks, deliveryIdOf, type Webhook, WebhookReceiver } from '../webhooks.ts';
import {
  CodehostClients,
  type CodehostOptions,
  clientSettings,
  codehostOptions,
  createWebhookRegistry,
} from './clients.ts';
import { type Reactable, readEvent } from './events.ts';
import { createPoster } from './posts.ts';

const reactionMs = 10_000;
const paths = ['/webhook/codehost', '/webhook/github'];

/** The code host (GitHub): webhooks in; comments and reviews out. */
export const codehostSurface = defineSurface({
  name: 'codehost',
  title: 'GitHub',
  guide:
    'Make a fine-grained token with read and write access to issues and pull requests. For messages from GitHub, add a webhook with a secret.',
  options: codehostOptions,
  variables: 'CODEHOST_TOKEN, CODEHOST_APP_ID and CODEHOST_APP_PRIVATE_KEY',
  carriesQuestions: false,
  test: {
    topic: 'message.outbound.codehost.{place}',
    place: { label: 'Issue or pull request', example: 'owner/repository#12' },
  },
  anyBodyPaths: paths,
  webhooks: ({ codehostToken, codehostWebhookSecret: secret }) =>
    codehostToken === undefined ? undefined : { secret, variable: 'CODEHOST_WEBHOOK_SECRET' },
  create(options, { deliveries }) {
    const { codehostToken: token, codehostWebhookSecret: secret } = options;
    const webhooks = new WebhookReceiver({
      surface: 'codehost',
      product: 'code host',
      paths,
      secret,
      secretVariable: 'CODEHOST_WEBHOOK_SECRET',
      allowUnsigned: options.allowUnsigned,
      signatureHeader: 'x-hub-signature-256',
      host: options.host,
      port: options.codehostWebhookPort,
      portVariable: 'CODEHOST_WEBHOOK_PORT',
      bodyLimit: 25 * 1024 * 1024,
    });
    let ends: (() => Promise<void> | void)[] = [];
    return {
      off: token === undefined ? 'Set CODEHOST_TOKEN to switch it on.' : undefined,
      repositories: createWebhookRegistry(options),
      mount: (app) => webhooks.mount(app),
      async start({ bus, workspace, logger, files, senders }) {
        const stopping = new AbortController();
        const soon = () => AbortSignal.any([stopping.signal, AbortSignal.timeout(reactionMs)]);
        const accepted = await AcceptedWebhooks.open(bus, 'codehost');
        const clients = await CodehostClients.open(clientSettings(options));
        const host = fileHost(options);
        let ownLogins: readonly string[] = [];
        const take = async (webhook: Webhook) => {
          const { body, header, arrivedAt } = webhook;
          const deliveryId = deliveryIdOf(secret, body, header('x-github-delivery'));
          const event = {
            name: header('x-github-event') ?? '',
            deliveryId,
            payload: payloadOf(webhook),
            arrivedAt,
          };
          return await accepted.once(deliveryId, async () => {
            const own = [...ownLogins, ...workspace.fleet().codehost.reviewerBotLogins];
            const logins = new Set(own.map((login) => login.toLowerCase()));
            const { drafts, seen, association } = readEvent(event, {
              config: workspace.codehost(),
              ownLogins: logins,
            });
            const flows: string[] = [];
            for (const draft of drafts) {
              const stamped = fromOutside(draft);
              if (!senders.takes(stamped, { isForgeable: true })) continue;
              const sources = linkedFiles(contentOf(draft), host);
              const { correlationId } = await bus.publish(
                isTrusted(association)
                  ? await files.receive(stamped, sources)
                  : withoutFiles(stamped, sources),
              );
              if (draft.topic.startsWith('message.inbound.')) flows.push(correlationId);
            }
            // A failure costs only the reaction.
            if (seen !== undefined)
              acknowledge(clients, seen, soon()).catch((error: unknown) =>
                logger.warn({ err: error, ...seen }, 'failed to add acknowledgement reaction'),
              );
            return flows;
          });
        };
        const server = await webhooks.start(take, logger);
        // Without the logins our own comments are still recognised by the mark in them.
        ownLogins = await clients.logins(soon()).catch((error: unknown) => {
          logger.warn({ err: error }, 'failed to read own logins; check CODEHOST_TOKEN');
          return [];
        });
        const send = createPoster(clients, bus);
        const patterns = ['message.outbound.codehost.#'];
        const close = await deliveries.open({ surface: 'codehost', patterns, send });
        ends = [() => stopping.abort(), close, () => server.stop()];
      },
      async stop() {
        for (const end of ends) await end();
      },
    };
  },
  diagnose(options) {
    if (options.codehostToken === undefined) return undefined;
    return async (signal) => {
      const clients = await CodehostClients.open(clientSettings(options));
      return `signed in as ${(await clients.logins(signal)).join(', ')}`;
    };
  },
});

/** GitHub waits ten seconds for an answer to a webhook. */
const filesMs = 7000;

/** What people attach to issues and comments; GitHub names no other addresses for it in its API. */
function fileHost({ codehostApiUrl, codehostToken, maxFileMb }: CodehostOptions & FileLimit): FileHost {
  const api = new URL(codehostApiUrl);
  const isPublic = api.hostname === 'api.github.com';
  const origin = isPublic ? 'https://github.com' : api.origin;
  return {
    origin,
    isFile: ({ origin: there, hostname, pathname }) =>
      there === origin
        ? /^\/(user-attachments|[^/]+\/[^/]+)\/(assets|files)\/./.test(pathname)
        : isPublic && /^(private-)?user-images\.githubusercontent\.com$/.test(hostname),
    authorized: (_signal, call) => call(codehostToken && `Bearer ${codehostToken}`),
    maxBytes: maxFileMb * 2 ** 20,
    timeoutMs: filesMs,
  };
}

interface FileLimit {
  maxFileMb: number;
}

/** Anybody may write on a public repository; what strangers attach is not fetched. */
function isTrusted(association: string | undefined): boolean {
  return ['OWNER', 'MEMBER', 'COLLABORATOR'].includes(association ?? '');
}

function withoutFiles(draft: Draft, sources: readonly FileSource[]): Draft {
  if (sources.length === 0) return draft;
  const names = sources.map(({ name }) => plainName(name)).join(', ');
  const words = `[Not read: ${names}. Files are taken from owners, members and collaborators of the repository.]`;
  const payload = draft.payload as object;
  return { ...draft, payload: { ...payload, content: `${contentOf(draft)}\n${words}` } };
}

function contentOf({ payload }: Draft): string {
  return text(fieldsOf(payload).content) ?? '';
}

/** JSON, or the form in which the code host sends it where nobody chose. */
function payloadOf({ body, header }: Webhook): unknown {
  const text = new TextDecoder().decode(body);
  const isForm = header('content-type')?.startsWith('application/x-www-form-urlencoded');
  return parseJson(isForm ? (new URLSearchParams(text).get('payload') ?? '') : text);
}

/** Reacts to show that the request was accepted. */
async function acknowledge(
  clients: CodehostClients,
  { owner, repo, kind, id }: Reactable,
  signal: AbortSignal,
): Promise<void> {
  const common = { owner, repo, content: 'eyes' as const, request: { signal } };
  const { reactions } = (await clients.of(owner, repo, 'reply')).rest;
  if (kind === 'issue') await reactions.createForIssue({ ...common, issue_number: id });
  if (kind === 'issue-comment') await reactions.createForIssueComment({ ...common, comment_id: id });
  if (kind === 'review-comment')
    await reactions.createForPullRequestReviewComment({ ...common, comment_id: id });
}
