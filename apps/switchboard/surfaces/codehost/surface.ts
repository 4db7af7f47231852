import type { Plugin, PluginContext } from '../../core/plugin.ts';
import { fromSurface } from '../../core/principals.ts';
import type { SwitchboardOptions } from '../../options.ts';
import type { DeliveryDesk } from '../delivery/delivery-desk.ts';
import { TakenDeliveries } from '../taken-deliveries.ts';
import { startWebhookServer } from '../webhook-server.ts';
import { type ClientSettings, CodehostClients } from './clients.ts';
import { type HookEvent, type Reactable, readEvent } from './events.ts';
import { createPoster } from './posts.ts';
import { hookLimit, mountWebhook, type WebhookSettings } from './webhook.ts';

const reactionMs = 10_000;

/** The code host: webhooks in, comments and reviews out. */
export function createCodehostSurface(options: SwitchboardOptions, desk: DeliveryDesk): Plugin {
  const { codehostToken: token } = options;
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
    name: 'codehost',
    off: token === undefined ? 'Set CODEHOST_TOKEN to switch it on.' : undefined,
    mount: (app) => mountWebhook(app, webhook),
    async start(context) {
      running = await Running.begin(clientSettings(options, token), context, desk, webhook);
    },
    async stop() {
      await running?.end();
      running = undefined;
    },
  };
}

export function clientSettings(options: SwitchboardOptions, token: string | undefined): ClientSettings {
  return {
    token,
    apiUrl: options.codehostApiUrl,
    app: identityOf(options.codehostAppId, options.codehostAppPrivateKey),
    chainApp: identityOf(options.chainAppId, options.chainAppPrivateKey),
  };
}

/** A key that came through one line of an environment file has its line ends written out. */
function identityOf(id: string | undefined, key: string | undefined) {
  if (id === undefined || key === undefined) return undefined;
  return { id, privateKey: key.replaceAll('\\n', '\n') };
}

class Running {
  readonly #clients: CodehostClients;
  readonly #context: PluginContext;
  readonly #taken: TakenDeliveries;
  readonly #stopping = new AbortController();
  #ownLogins: ReadonlySet<string> = new Set();
  #ends: (() => Promise<void>)[] = [];

  private constructor(clients: CodehostClients, context: PluginContext, taken: TakenDeliveries) {
    this.#clients = clients;
    this.#context = context;
    this.#taken = taken;
  }

  static async begin(
    settings: ClientSettings,
    context: PluginContext,
    desk: DeliveryDesk,
    webhook: WebhookSettings,
  ): Promise<Running> {
    const { bus, options, logger } = context;
    const taken = await TakenDeliveries.open(bus, 'codehost');
    const running = new Running(await CodehostClients.open(settings), context, taken);
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
    logger.info({ url: `${server.url}/webhook/codehost` }, 'webhooks of the code host are received');
    await running.#learnLogins();
    const send = createPoster(running.#clients, bus);
    running.#ends.push(
      await desk.open({ surface: 'codehost', patterns: ['message.outbound.codehost.#'], send }),
    );
    return running;
  }

  async end(): Promise<void> {
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

  /** Without them our own words are still known by the mark they carry. */
  async #learnLogins(): Promise<void> {
    const { logger } = this.#context;
    try {
      const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(reactionMs)]);
      const logins = await this.#clients.logins(signal);
      this.#ownLogins = new Set(logins.map((login) => login.toLowerCase()));
    } catch (error) {
      logger.warn({ err: error }, 'the code host did not say who we are; check CODEHOST_TOKEN');
    }
  }

  /** Shows that it was taken up; a failure only costs the sign. */
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
      this.#context.logger.warn({ err: error, owner, repo, id }, 'the sign of having seen it was not set');
    }
  }
}
