import type { Repositories } from '../../onboarding/steps.ts';
import type { SwitchboardOptions } from '../../options.ts';
import { CodehostClients, codehostFailure } from './clients.ts';
import { clientSettings } from './surface.ts';

/** Registers webhooks at the code host, as the app or by the token. */
export function createWebhookRegistry(options: SwitchboardOptions): Repositories {
  const { codehostToken: token, codehostAppId: appId } = options;
  let clients: Promise<CodehostClients> | undefined;
  return {
    off:
      token === undefined && appId === undefined
        ? 'neither CODEHOST_TOKEN nor CODEHOST_APP_ID is set'
        : undefined,
    async ensureWebhook({ owner, repo }, { url, events, secret }, signal) {
      clients ??= CodehostClients.open(clientSettings(options, token));
      const request = { signal };
      try {
        const octokit = await (await clients).of(owner, repo, 'reply');
        const hooks = await octokit.paginate(octokit.rest.repos.listWebhooks, {
          owner,
          repo,
          per_page: 100,
          request,
        });
        if (hooks.some(({ config }) => config.url === url)) return 'exists';
        const config = { url, content_type: 'json', ...(secret !== undefined && { secret }) };
        await octokit.rest.repos.createWebhook({
          owner,
          repo,
          events: [...events],
          active: true,
          config,
          request,
        });
        return 'created';
      } catch (error) {
        throw codehostFailure(error);
      }
    },
  };
}
