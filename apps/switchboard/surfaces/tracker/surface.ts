import { group, integer, text, url } from '@trunkline/config';
import { fromOutside } from '../../core/messages.ts';
import type { PluginContext } from '../../core/plugins.ts';
import { reportRefreshFailure } from '../access-tokens.ts';
import { type FileHost, linkedFiles } from '../linked-files.ts';
import { defineSurface, type SurfaceOptions } from '../surface.ts';
import { AcceptedWebhooks, type Webhook, WebhookReceiver } from '../webhooks.ts';
import { createTrackerActions, createTrackerTokens, TrackerApi } from './client.ts';
import { parseTrackerHook, readTrackerHook, type TrackerHook, tracker_old } from './webhook.ts';

const off = 'Set TRACKER_API_KEY to write to the tracker, and TRACKER_WEBHOOK_SECRET to hear from it.';
const acknowledgeMs = 10_000;

const options = group('Tracker (Linear)', {
  trackerApiKey: text({
    env: 'TRACKER_API_KEY',
    secret: true,
    doc: 'Linear API key. It writes comments, new issues and changes.',
  }),
  trackerWebhookSecret: text({
    env: 'TRACKER_WEBHOOK_SECRET',
    secret: true,
    doc: "Secret that signs Linear's webhooks. Without it they are refused.",
  }),
  trackerWebhookPort: integer({
    env: 'TRACKER_WEBHOOK_PORT',
    default: 8084,
    min: 0,
    max: 65_535,
    doc: "Port that receives Linear's webhooks.",
  }),
  trackerClientId: text({
    env: 'TRACKER_CLIENT_ID',
    doc: 'OAuth client id, to act as a Linear agent instead of with TRACKER_API_KEY.',
  }),
  trackerClientSecret: text({
    env: 'TRACKER_CLIENT_SECRET',
    secret: true,
    doc: 'Secret of that OAuth client.',
  }),
  trackerRefreshToken: text({
    env: 'TRACKER_REFRESH_TOKEN',
    secret: true,
    doc: 'First refresh token of that client. Later ones are stored in the data folder.',
  }),
  trackerApiUrl: url({
    env: 'TRACKER_API_URL',
    default: 'https://api.linear.app',
    doc: 'Address of the Linear API.',
  }),
});

type TrackerOptions = SurfaceOptions<typeof options>;

/** Linear: agent sessions and new issues in; comments, issues and activities out. */
export const trackerSurface = defineSurface({
  name: 'tracker',
  title: 'Linear',
  guide:
    "Make an API key in Linear's settings under Security and access. For messages from Linear, add a webhook and copy its secret.",
  options,
  variables: 'TRACKER_API_KEY',
  carriesQuestions: true,
  hasChannels: true,
  test: { topic: 'tracker.reply.{place}', place: { label: 'Issue', example: 'ENG-12' } },
  durableTopics: ['tracker.#'],
  webhooks: (settings) =>
    isOn(settings)
      ? { secret: settings.trackerWebhookSecret, variable: 'TRACKER_WEBHOOK_SECRET' }
      : undefined,
  create(settings, { deliveries }) {
    const { trackerWebhookSecret } = settings;
    const webhooks = new WebhookReceiver({
      surface: 'tracker',
      product: 'tracker',
      paths: ['/webhooks/tracker', '/webhooks/linear'],
      secret: trackerWebhookSecret,
      secretVariable: 'TRACKER_WEBHOOK_SECRET',
      allowUnsigned: settings.allowUnsigned,
      signatureHeader: 'linear-signature',
      errors: [tracker_old],
      host: settings.host,
      port: settings.trackerWebhookPort,
      portVariable: 'TRACKER_WEBHOOK_PORT',
      bodyLimit: 1024 * 1024,
    });
    let ends: (() => Promise<void> | void)[] = [];
    return {
      off: isOn(settings) ? undefined : off,
      mount: (app) => webhooks.mount(app),
      async start(context) {
        const api = createApi(settings, context);
        const stopping = new AbortController();
        const accepted = await AcceptedWebhooks.open(context.bus, 'tracker');
        const host = fileHost(settings, api);
        const publish = createPublisher(context, api, host, stopping.signal);
        const take = async (webhook: Webhook) => {
          const hook = parseTrackerHook(webhook);
          const id = await accepted.idOf(webhook.body, webhook.header('linear-delivery'));
          return await accepted.once(id, () => publish(hook, id, webhook.arrivedAt));
        };
        const server = await webhooks.start(take, context.logger);
        const close = await deliveries.open({
          surface: 'tracker',
          patterns: ['tracker.#'],
          send: createTrackerActions(api, context.files),
        });
        ends = [() => stopping.abort(), () => server.stop(), close];
      },
      async stop() {
        for (const end of ends) await end();
      },
    };
  },
  diagnose({ trackerApiKey: apiKey, trackerApiUrl }) {
    if (apiKey === undefined) return undefined;
    return async (signal) => {
      const api = new TrackerApi({ url: trackerApiUrl, apiKey, tokens: undefined });
      const { name } = await api.call(signal, (client) => client.viewer);
      return `signed in as ${name}`;
    };
  },
});

function createApi(settings: TrackerOptions, { home, bus, logger }: PluginContext): TrackerApi {
  const { trackerApiUrl, trackerApiKey: apiKey } = settings;
  const { trackerClientId, trackerClientSecret, trackerRefreshToken } = settings;
  const tokens =
    trackerClientId && trackerClientSecret && trackerRefreshToken
      ? createTrackerTokens({
          clientId: trackerClientId,
          clientSecret: trackerClientSecret,
          refreshToken: trackerRefreshToken,
          url: trackerApiUrl,
          home,
          onRefreshFailed: (error) => reportRefreshFailure('tracker', error, bus, logger),
          logger,
        })
      : undefined;
  return new TrackerApi({ url: trackerApiUrl, apiKey, tokens });
}

/** Linear waits five seconds for an answer to a webhook. */
const filesMs = 3000;

/** The storage of what people attach; it takes the credentials of the API. */
function fileHost(
  { trackerApiUrl, maxFileMb }: TrackerOptions & { maxFileMb: number },
  api: TrackerApi,
): FileHost {
  const { hostname, origin: own } = new URL(trackerApiUrl);
  const origin = hostname === 'api.linear.app' ? 'https://uploads.linear.app' : own;
  return {
    origin,
    isFile: (url) => url.origin === origin,
    authorized: (signal, call) => api.authorized(signal, call),
    maxBytes: maxFileMb * 2 ** 20,
    timeoutMs: filesMs,
  };
}

function isOn({ trackerApiKey, trackerWebhookSecret, trackerRefreshToken }: TrackerOptions): boolean {
  return (trackerApiKey ?? trackerWebhookSecret ?? trackerRefreshToken) !== undefined;
}

/** Publishes a webhook. The tracker expects an activity as soon as an agent session starts. */
function createPublisher(
  { bus, logger, files, senders }: PluginContext,
  api: TrackerApi,
  host: FileHost,
  stopping: AbortSignal,
) {
  return async (hook: TrackerHook, deliveryId: string, arrivedAt: number): Promise<string[]> => {
    const draft = readTrackerHook(hook, deliveryId, arrivedAt);
    if (draft === undefined) return [];
    const stamped = fromOutside(draft);
    if (!senders.takes(stamped, { isForgeable: true })) return [];
    const sources = linkedFiles((draft.payload as { content: string }).content, host);
    const { correlationId } = await bus.publish(await files.receive(stamped, sources));
    if (hook.agentSession === undefined || hook.action !== 'created') return [correlationId];
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(acknowledgeMs)]);
    const content = { type: 'thought', body: 'Looking into it.' };
    api
      .call(signal, (client) =>
        client.createAgentActivity({ agentSessionId: hook.agentSession?.id ?? '', content }),
      )
      .catch((error: unknown) => logger.warn({ err: error }, 'failed to acknowledge agent session'));
    return [correlationId];
  };
}
