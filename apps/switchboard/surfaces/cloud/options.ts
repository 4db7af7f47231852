import { group, text, url } from '@trunkline/config';

export const cloudOptions = group('Cloud suite', {
  cloudClientId: text({
    env: 'CLOUD_CLIENT_ID',
    doc: 'OAuth client of the cloud suite (Google Workspace); with its secret and a refresh token it switches the surface on.',
  }),
  cloudClientSecret: text({ env: 'CLOUD_CLIENT_SECRET', secret: true, doc: 'Secret of that client.' }),
  cloudRefreshToken: text({
    env: 'CLOUD_REFRESH_TOKEN',
    secret: true,
    doc: 'Long-lived token of the account that is read and written.',
  }),
  cloudApiUrl: url({
    env: 'CLOUD_API_URL',
    doc: 'One address for all of its APIs, for a proxy of your own.',
    defaultDoc: "Google's own",
  }),
  cloudTokenUrl: url({
    env: 'CLOUD_TOKEN_URL',
    default: 'https://oauth2.googleapis.com/token',
    doc: 'Where refresh tokens are exchanged.',
  }),
});
