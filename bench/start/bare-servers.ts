// The peer of the start benchmark: four servers that do nothing.
import { createServer } from 'node:http';

const servers = Array.from({ length: 4 }, () => createServer((_request, response) => response.end('ok')));
await Promise.all(
  servers.map((server) => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))),
);
console.log('ready');
