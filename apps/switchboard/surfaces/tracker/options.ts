import { group, integer, text, url } from '@trunkline/config';

export const trackerOptions = group('Tracker', {
  trackerApiKey: text({
    env: 'TRACKER_API_KEY',
    secret: true,
    doc: 'Key of the tracker (Linear) for comments, new issues and changes.',
  }),
  trackerWebhookSecret: text({
    env: 'TRACKER_WEBHOOK_SECRET',
    secret: true,
    doc: 'Signing secret of its webhooks; without it they are refused.',
  }),
  trackerWebhookPort: integer({
    env: 'TRACKER_WEBHOOK_PORT',
    default: 8084,
    min: 0,
    max: 65_535,
    doc: 'Port that receives the webhooks.',
  }),
  trackerClientId: text({
    env: 'TRACKER_CLIENT_ID',
    doc: 'OAuth client, for an agent of its own in place of TRACKER_API_KEY.',
  }),
  trackerClientSecret: text({ env: 'TRACKER_CLIENT_SECRET', secret: true, doc: 'Secret of that client.' }),
  trackerRefreshToken: text({
    env: 'TRACKER_REFRESH_TOKEN',
    secret: true,
    doc: 'First refresh token of that client; those that follow are kept in the data folder.',
  }),
  trackerApiUrl: url({
    env: 'TRACKER_API_URL',
    default: 'https://api.linear.app',
    doc: 'Base address of the API.',
  }),
});
