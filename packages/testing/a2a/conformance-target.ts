// The agent that the public A2A conformance kits are pointed at: node conformance-target.ts --port 9999 --grpc-port 9998
import { parseArgs } from 'node:util';
import { createA2aServer, withGrpc } from '@trunkline/a2a';
import { createApp, serve } from '@trunkline/http';
import { temporaryDirectory } from '../directory.ts';
import { conformanceExecutor } from './conformance-executor.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '9999' },
    host: { type: 'string', default: '127.0.0.1' },
    'grpc-port': { type: 'string' },
    /** Writes gRPC into the card as a URL, as the kit of 0.3 wants it. */
    'grpc-url': { type: 'boolean', default: false },
  },
});

const logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: (fields: object, message: string) => console.error(message, fields),
  child: () => logger,
};

const directory = temporaryDirectory();
let port = Number(values.port);
let grpcPort: number | undefined;

const agent = createA2aServer({
  directory: directory.path,
  executor: conformanceExecutor,
  // The kits receive notifications on this machine, and register addresses that they never look at.
  push: { allowedHosts: ['localhost', '127.0.0.1', 'example.com'] },
  logger,
  card: () => ({
    name: 'Conformance target',
    description: 'Answers as the conformance kits ask by the id of the message.',
    version: '1.0.0',
    publicUrl: `http://localhost:${port}`,
    ...(grpcPort !== undefined && {
      grpcAddress: `${values['grpc-url'] ? 'http://' : ''}localhost:${grpcPort}`,
    }),
    provider: { organization: 'Trunkline', url: 'https://example.com' },
    skills: [{ id: 'tck', name: 'TCK', description: 'Plays the scripts of the kits.', tags: ['tck'] }],
  }),
});

const app = createApp({
  service: 'conformance-target',
  version: '1.0.0',
  logger,
  renderError: (error) => ({ body: { detail: error.message } }),
  health: () => ({ status: 200, body: { ok: true } }),
});
agent.mount(app);
const server = await withGrpc(
  {
    host: values.host,
    grpcPort: values['grpc-port'] === undefined ? undefined : Number(values['grpc-port']),
    grpcCertFile: undefined,
    grpcKeyFile: undefined,
  },
  'A2A',
  await serve(app, { host: values.host, port, portVariable: '--port', logger }),
  logger,
);
({ port, grpcPort } = server);
console.log(`conformance target: http://localhost:${port}, JSON-RPC at /a2a`);

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop());

async function stop(): Promise<void> {
  agent.stop();
  await server.stop();
  directory.remove();
}
