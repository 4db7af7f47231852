import type { Repositories } from '../../onboarding/steps.ts';
import { CodehostClients, clientSettings, codehostFailure } from './clients.ts';
import type { CodehostOptions } from './options.ts';

/** Registers webhooks at the code host, as the app or by the token. */
export function createWebhookRegistry(options: CodehostOptions): Repositories {
  const { codehostToken: token, codehostAppId: appId, codehostWebhookSecret: secret } = options;
  let clients: Promise<CodehostClients> | undefined;
  return {
    off:
      token === undefined && appId === undefined
        ? 'neither CODEHOST_TOKEN nor CODEHOST_APP_ID is set'
        : undefined,
    async ensureWebhook({ owner, repo }, { url, events }, signal) {
      clients ??= CodehostClients.open(clientSettings(options));
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
