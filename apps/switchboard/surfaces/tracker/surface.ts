import type { Plugin, PluginContext } from '../../core/plugin.ts';
import { fromSurface } from '../../core/principals.ts';
import type { SwitchboardOptions } from '../../options.ts';
import type { DeliveryDesk } from '../delivery/delivery-desk.ts';
import { TakenDeliveries } from '../taken-deliveries.ts';
import { startWebhookServer } from '../webhook-server.ts';
import { createTrackerActions } from './actions.ts';
import { TrackerApi } from './client.ts';
import { readTrackerHook, type TrackerHook } from './events.ts';
import { TrackerTokens } from './tokens.ts';
import { mountTrackerWebhook, type TrackerWebhook, trackerHookLimit } from './webhook.ts';

const off = 'Set TRACKER_API_KEY to write to the tracker, and TRACKER_WEBHOOK_SECRET to hear from it.';
const signMs = 10_000;

/** The tracker: agent sessions and new issues in, comments, issues and activities out. */
export function createTrackerSurface(options: SwitchboardOptions, desk: DeliveryDesk): Plugin {
  let ends: (() => Promise<void>)[] = [];
  let running: Pick<TrackerWebhook, 'take'> | undefined;
  const webhook: TrackerWebhook = {
    secret: options.trackerWebhookSecret,
    allowUnsigned: options.allowUnsigned,
    take: (...hook) => started(running).take(...hook),
  };
  return {
    name: 'tracker',
    off: isOn(options) ? undefined : off,
    mount: (app) => mountTrackerWebhook(app, webhook),
    async start(context) {
      const api = createApi(context);
      const stopping = new AbortController();
      const taken = await TakenDeliveries.open(context.bus, 'tracker');
      const take = createTaker(context, api, stopping.signal);
      running = {
        take: async (hook, { body, named }, arrivedAt) => {
          const id = await taken.idOf(body, named);
          await taken.once(id, () => take(hook, id, arrivedAt));
        },
      };
      const server = await startWebhookServer({
        name: 'tracker',
        host: options.host,
        port: options.trackerWebhookPort,
        portVariable: 'TRACKER_WEBHOOK_PORT',
        bodyLimit: trackerHookLimit,
        logger: context.logger,
        mount: (app) => mountTrackerWebhook(app, webhook),
      });
      context.logger.info({ url: `${server.url}/webhooks/tracker` }, 'webhooks of the tracker are received');
      const close = await desk.open({
        surface: 'tracker',
        patterns: ['tracker.#'],
        send: createTrackerActions(api),
      });
      ends = [async () => stopping.abort(), () => server.stop(), close];
    },
    async stop() {
      for (const end of ends) await end();
      running = undefined;
    },
  };
}

function started<Part>(part: Part | undefined): Part {
  if (part === undefined) throw new Error('The tracker surface is not running.');
  return part;
}

function isOn({ trackerApiKey, trackerWebhookSecret, trackerRefreshToken }: SwitchboardOptions): boolean {
  return [trackerApiKey, trackerWebhookSecret, trackerRefreshToken].some((value) => value !== undefined);
}

function createApi({ options, home, bus, logger }: PluginContext): TrackerApi {
  const { trackerApiUrl: url, trackerApiKey: apiKey } = options;
  const { trackerClientId, trackerClientSecret, trackerRefreshToken } = options;
  const onRefreshFailed = (error: string) => {
    logger.error({ error }, 'the token of the tracker could not be renewed');
    bus
      .publish({ topic: 'auth.token_refresh_failed', payload: { surface: 'tracker', error } })
      .catch((cause: unknown) => logger.warn({ err: cause }, 'the failure could not be told'));
  };
  const tokens =
    trackerClientId && trackerClientSecret && trackerRefreshToken
      ? new TrackerTokens({
          clientId: trackerClientId,
          clientSecret: trackerClientSecret,
          refreshToken: trackerRefreshToken,
          url,
          home,
          onRefreshFailed,
          logger,
        })
      : undefined;
  return new TrackerApi({ url, apiKey, tokens });
}

/** Takes a webhook; a session that begins is told at once that somebody looks at it, as the tracker expects. */
function createTaker({ bus, logger }: PluginContext, api: TrackerApi, stopping: AbortSignal) {
  return async (hook: TrackerHook, deliveryId: string, arrivedAt: number): Promise<void> => {
    const draft = readTrackerHook(hook, deliveryId, arrivedAt);
    if (draft === undefined) return;
    await bus.publish(fromSurface(draft));
    if (hook.agentSession === undefined || hook.action !== 'created') return;
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(signMs)]);
    const content = { type: 'thought', body: 'Looking into it.' };
    api
      .call(signal, (client) =>
        client.createAgentActivity({ agentSessionId: hook.agentSession?.id ?? '', content }),
      )
      .catch((error: unknown) => logger.warn({ err: error }, 'the sign of having seen it was not set'));
  };
}
