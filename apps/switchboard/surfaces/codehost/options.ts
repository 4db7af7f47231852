import { group, integer, text, url } from '@trunkline/config';
import type { SurfaceOptions } from '../surface.ts';

export const codehostOptions = group('Code host', {
  codehostToken: text({
    env: 'CODEHOST_TOKEN',
    secret: true,
    doc: 'Token of the code host (GitHub); switches the surface on and writes its comments.',
  }),
  codehostWebhookSecret: text({
    env: 'CODEHOST_WEBHOOK_SECRET',
    secret: true,
    doc: 'Secret of the webhooks; without it they are refused.',
  }),
  codehostWebhookPort: integer({
    env: 'CODEHOST_WEBHOOK_PORT',
    default: 8082,
    min: 0,
    max: 65_535,
    doc: 'Port that receives the webhooks.',
  }),
  codehostAppId: text({ env: 'CODEHOST_APP_ID', doc: 'App under whose name comments are written.' }),
  codehostAppPrivateKey: text({
    env: 'CODEHOST_APP_PRIVATE_KEY',
    secret: true,
    doc: 'Private key of that app, in PEM (PKCS#1).',
  }),
  chainAppId: text({
    env: 'CHAIN_APP_ID',
    doc: 'App under whose name the answers of chained agents are written.',
  }),
  chainAppPrivateKey: text({
    env: 'CHAIN_APP_PRIVATE_KEY',
    secret: true,
    doc: 'Private key of that app, in PEM (PKCS#1).',
  }),
  codehostApiUrl: url({
    env: 'CODEHOST_API_URL',
    default: 'https://api.github.com',
    doc: 'Base address of the API, for an installation of your own.',
  }),
});

export type CodehostOptions = SurfaceOptions<typeof codehostOptions>;
