import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';

const script = `
  const { fetchOnNewConnection } = await import(process.argv[1]);
  const answers = [];
  for (const send of [fetch, fetchOnNewConnection]) {
    const response = await send('http://agent.example/message', { method: 'POST', body: 'Book it' });
    answers.push(await response.text());
  }
  console.log(JSON.stringify(answers));
`;

it('goes through the proxy that Node was told to use, as fetch does', async () => {
  const agent = await listen(createServer((_request, response) => response.end('from the agent')));
  const asked: (string | undefined)[] = [];
  const proxy = await listen(
    createServer().on('connect', (request, socket) => {
      asked.push(request.url);
      const through = connect(agent, '127.0.0.1', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
      for (const end of [socket, through]) end.on('error', () => undefined);
      socket.pipe(through).pipe(socket);
    }),
  );
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '--eval', script, join(import.meta.dirname, 'connections.ts')],
    {
      env: { ...process.env, NODE_USE_ENV_PROXY: '1', HTTP_PROXY: `http://127.0.0.1:${proxy}`, NO_PROXY: '' },
    },
  );
  expect(JSON.parse(stdout)).toEqual(['from the agent', 'from the agent']);
  expect(asked).toEqual(['agent.example:80', 'agent.example:80']);
});

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}
