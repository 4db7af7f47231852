// Runs inside a sandbox that has no network: listens on its loopback, hands every connection to the proxy of the
// service by the unix socket that is bound into the sandbox, and starts the program once it listens. Imports nothing of
// the repository, which the sandbox does not show, and has no types, as it is read as JavaScript there.
import { spawn } from 'node:child_process';
import { connect, createServer } from 'node:net';
import { constants } from 'node:os';

const [socket = '', port = '', command = '', ...args] = process.argv.slice(2);

const server = createServer((client) => {
  const proxy = connect(socket);
  client.on('error', () => proxy.destroy());
  proxy.on('error', () => client.destroy());
  client.once('close', () => proxy.destroy());
  proxy.once('close', () => client.destroy());
  client.pipe(proxy).pipe(client);
});

server.listen(Number(port), '127.0.0.1', () => {
  const child = spawn(command, args, { stdio: 'inherit' });
  child.once('error', (error) => {
    console.error(error.message);
    process.exit(127);
  });
  child.once('exit', (code, signal) => process.exit(code ?? 128 + (signal ? constants.signals[signal] : 0)));
});
