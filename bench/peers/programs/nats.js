// One process takes HTTP requests and asks over NATS, another answers: nats.js http PORT, nats.js handler.
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { connect } from '@nats-io/transport-node';

const [role] = process.argv.slice(2);
const connection = await connect({ servers: process.env.NATS_URL });
if (role === 'handler') {
  connection.subscribe('work', { callback: (_error, message) => message.respond(message.data) });
  await connection.flush();
  console.log('ready: handler');
} else {
  const server = createServer((request, response) => {
    ask(request).then(
      (answer) => response.setHeader('content-type', 'application/json').end(answer),
      (error) => response.destroy(error),
    );
  });
  server.listen(0, '127.0.0.1', () => console.log(`ready: http://127.0.0.1:${server.address().port}`));
}

async function ask(request) {
  const body = JSON.stringify(await json(request));
  return (await connection.request('work', body, { timeout: 10_000 })).string();
}
