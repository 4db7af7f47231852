import { group, integer, text, url } from '@trunkline/config';
import type { SurfaceOptions } from '../surface.ts';

export const codehostOptions = group('Code host (GitHub)', {
  codehostToken: text({
    env: 'CODEHOST_TOKEN',
    secret: true,
    doc: 'GitHub token. It connects the code host and writes comments.',
  }),
  codehostWebhookSecret: text({
    env: 'CODEHOST_WEBHOOK_SECRET',
    secret: true,
    doc: "Secret that signs GitHub's webhooks. Without it they are refused.",
  }),
  codehostWebhookPort: integer({
    env: 'CODEHOST_WEBHOOK_PORT',
    default: 8082,
    min: 0,
    max: 65_535,
    doc: "Port that receives GitHub's webhooks.",
  }),
  codehostAppId: text({ env: 'CODEHOST_APP_ID', doc: 'GitHub App that writes the comments.' }),
  codehostAppPrivateKey: text({
    env: 'CODEHOST_APP_PRIVATE_KEY',
    secret: true,
    doc: 'Private key of that app in PEM (PKCS#1).',
  }),
  chainAppId: text({
    env: 'CHAIN_APP_ID',
    doc: 'GitHub App that writes the answers of chained agents.',
  }),
  chainAppPrivateKey: text({
    env: 'CHAIN_APP_PRIVATE_KEY',
    secret: true,
    doc: 'Private key of that app in PEM (PKCS#1).',
  }),
  codehostApiUrl: url({
    env: 'CODEHOST_API_URL',
    default: 'https://api.github.com',
    doc: 'Address of the GitHub API. Change it for GitHub Enterprise.',
  }),
});

export type CodehostOptions = SurfaceOptions<typeof codehostOptions>;
