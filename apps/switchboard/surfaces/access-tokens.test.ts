import { type JsonReply, JsonServer } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { AccessTokens } from './access-tokens.ts';

const grant = { access_token: 'fresh', expires_in: 3600 };

async function start(answer: () => JsonReply) {
  const server = new JsonServer();
  server.on('POST /token', answer);
  await server.listen();
  onTestFinished(() => server.stop());
  return server;
}

function tokensOf({ url }: JsonServer) {
  const failures: string[] = [];
  const tokens = new AccessTokens({
    product: 'cloud suite',
    variable: 'CLOUD_REFRESH_TOKEN',
    tokenUrl: `${url}/token`,
    clientId: 'us',
    clientSecret: 'our-secret',
    refreshToken: () => 'refresh',
    onRefreshFailed: (words) => failures.push(words),
  });
  const call = () => tokens.call(new AbortController().signal, async (token) => token);
  return { call, failures };
}

it.each([301, 307, 308])('the secret follows no redirect (%i)', async (status) => {
  const elsewhere = await start(() => ({ body: grant }));
  const server = await start(() => ({ status, headers: { location: `${elsewhere.url}/token` } }));
  const { call, failures } = tokensOf(server);
  await expect(call()).rejects.toThrow(new RegExp(`it answered ${status}; check CLOUD_REFRESH_TOKEN`));
  expect(failures).toHaveLength(1);
  expect(elsewhere.requests).toEqual([]);
});

it('no more than a grant is read', async () => {
  const body = { ...grant, rest: 'x'.repeat(4 * 2 ** 20) };
  const { call } = tokensOf(await start(() => ({ body })));
  await expect(call()).rejects.toThrow(/CLOUD_REFRESH_TOKEN/);
});
