import { fromSurface } from '../../core/messages.ts';
import type { PluginContext } from '../../core/plugins.ts';
import type { Deliveries } from '../delivery/deliveries.ts';
import { defineSurface } from '../surface.ts';
import { AcceptedWebhooks, startWebhookServer } from '../webhooks.ts';
import { CodehostClients, clientSettings, createWebhookRegistry } from './clients.ts';
import { type HookEvent, type Reactable, readEvent } from './events.ts';
import { type CodehostOptions, codehostOptions } from './options.ts';
import { createPoster } from './posts.ts';
import { hookLimit, hookPaths, mountWebhook, type WebhookSettings } from './webhook.ts';

const reactionMs = 10_000;

/** The code host (GitHub): webhooks in; comments and reviews out. */
export const codehostSurface = defineSurface({
  name: 'codehost',
  options: codehostOptions,
  variables: 'CODEHOST_TOKEN, CODEHOST_APP_ID and CODEHOST_APP_PRIVATE_KEY',
  carriesQuestions: false,
  anyBodyPaths: hookPaths,
  create(options, { deliveries }) {
    let running: Running | undefined;
    const webhook: WebhookSettings = {
      secret: options.codehostWebhookSecret,
      allowUnsigned: options.allowUnsigned,
      take(event) {
        if (running === undefined) throw new Error('The code host surface is not running.');
        return running.take(event);
      },
    };
    return {
      off: options.codehostToken === undefined ? 'Set CODEHOST_TOKEN to switch it on.' : undefined,
      repositories: createWebhookRegistry(options),
      mount: (app) => mountWebhook(app, webhook),
      async start(context) {
        running = await Running.start(options, context, deliveries, webhook);
      },
      async stop() {
        await running?.stop();
        running = undefined;
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

class Running {
  readonly #clients: CodehostClients;
  readonly #context: PluginContext;
  readonly #taken: AcceptedWebhooks;
  readonly #stopping = new AbortController();
  #ownLogins: ReadonlySet<string> = new Set();
  #ends: (() => Promise<void>)[] = [];

  private constructor(clients: CodehostClients, context: PluginContext, taken: AcceptedWebhooks) {
    this.#clients = clients;
    this.#context = context;
    this.#taken = taken;
  }

  static async start(
    options: CodehostOptions,
    context: PluginContext,
    deliveries: Deliveries,
    webhook: WebhookSettings,
  ): Promise<Running> {
    const { bus, logger } = context;
    const taken = await AcceptedWebhooks.open(bus, 'codehost');
    const running = new Running(await CodehostClients.open(clientSettings(options)), context, taken);
    const server = await startWebhookServer({
      name: 'codehost',
      host: options.host,
      port: options.codehostWebhookPort,
      portVariable: 'CODEHOST_WEBHOOK_PORT',
      bodyLimit: hookLimit,
      logger,
      mount: (app) => mountWebhook(app, webhook),
    });
    running.#ends.push(() => server.stop());
    logger.info({ url: `${server.url}/webhook/codehost` }, 'codehost webhook server started');
    await running.#learnLogins();
    const send = createPoster(running.#clients, bus);
    running.#ends.push(
      await deliveries.open({ surface: 'codehost', patterns: ['message.outbound.codehost.#'], send }),
    );
    return running;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const end of this.#ends.toReversed()) await end();
  }

  async take(event: HookEvent): Promise<void> {
    await this.#taken.once(event.deliveryId, () => this.#publish(event));
  }

  async #publish(event: HookEvent): Promise<void> {
    const { bus, workspace } = this.#context;
    const bots = workspace.fleet().codehost.reviewerBotLogins.map((login) => login.toLowerCase());
    const ownLogins = new Set([...this.#ownLogins, ...bots]);
    const { drafts, seen } = readEvent(event, { config: workspace.codehost(), ownLogins });
    for (const draft of drafts) await bus.publish(fromSurface(draft));
    if (seen !== undefined) void this.#acknowledge(seen);
  }

  /** Without the logins our own comments are still recognised by the mark in them. */
  async #learnLogins(): Promise<void> {
    const { logger } = this.#context;
    try {
      const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(reactionMs)]);
      const logins = await this.#clients.logins(signal);
      this.#ownLogins = new Set(logins.map((login) => login.toLowerCase()));
    } catch (error) {
      logger.warn({ err: error }, 'failed to read own logins; check CODEHOST_TOKEN');
    }
  }

  /** Reacts to show that the request was accepted; a failure costs only the reaction. */
  async #acknowledge({ owner, repo, kind, id }: Reactable): Promise<void> {
    const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(reactionMs)]);
    const common = { owner, repo, content: 'eyes' as const, request: { signal } };
    try {
      const { reactions } = (await this.#clients.of(owner, repo, 'reply')).rest;
      if (kind === 'issue') await reactions.createForIssue({ ...common, issue_number: id });
      if (kind === 'issue-comment') await reactions.createForIssueComment({ ...common, comment_id: id });
      if (kind === 'review-comment')
        await reactions.createForPullRequestReviewComment({ ...common, comment_id: id });
    } catch (error) {
      this.#context.logger.warn({ err: error, owner, repo, id }, 'failed to add acknowledgement reaction');
    }
  }
}
