import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseErrorResponse } from '@modelcontextprotocol/sdk/client/auth.js';
import { fetchOnNewConnection } from '@trunkline/http';
import { expect, it } from 'vitest';

it('reads why a server that signs people in itself refused a token, over a new connection too', async () => {
  const server = createServer((request, response) => {
    const body = JSON.stringify({ error: 'invalid_grant', error_description: 'It was used already.' });
    if (request.url === '/empty') response.writeHead(202).end();
    else response.writeHead(400, { 'content-type': 'application/json' }).end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    const refused = await fetchOnNewConnection(`${url}/token`, {
      method: 'POST',
      body: 'grant_type=refresh_token',
    });
    expect(refused.headers.get('content-type')).toBe('application/json');
    expect(await parseErrorResponse(refused)).toMatchObject({
      errorCode: 'invalid_grant',
      message: 'It was used already.',
    });
    expect((await fetchOnNewConnection(`${url}/empty`, { method: 'POST' })).status).toBe(202);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
