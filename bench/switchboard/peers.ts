import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { connect } from '@nats-io/transport-node';
import { startNatsServer } from '@trunkline/testing';
import { addressOf, type Contestant, words } from './contestant.ts';

type Handler = (
  request: IncomingMessage & { body: Incoming },
  response: ServerResponse & { json(body: object): void },
) => void;

/** As much of express as is used here; it comes without types. */
interface Express {
  (): ((request: IncomingMessage, response: ServerResponse) => void) & {
    use(handler: unknown): void;
    post(path: string, handler: Handler): void;
  };
  json(): unknown;
}

const require = createRequire(import.meta.url);
const express = require('express') as Express;
const { EventEmitter2 } = require('eventemitter2') as typeof import('eventemitter2');

interface Incoming {
  correlationId: string;
  payload: unknown;
}

/** Takes a message and says when it is accepted; the work itself goes on. */
type Accept = (message: Incoming) => void;

/** The quickest that such a thing can be: express and an emitter, nothing kept. */
export async function startInMemory(): Promise<Contestant> {
  const emitter = new EventEmitter2({ wildcard: true });
  const contestant = await startExpress((message) => {
    queueMicrotask(() => emitter.emit('agent.skill.request', message));
  });
  emitter.on('agent.skill.request', ({ correlationId }: Incoming) => contestant.onHandled(correlationId));
  return contestant;
}

/** The same with what a message needs to outlive the process: a row before the answer, its end noted after the work. */
export async function startWithRows(): Promise<Contestant> {
  const directory = mkdtempSync(join(tmpdir(), 'trunkline-bench-'));
  const database = new DatabaseSync(join(directory, 'queue.db'));
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
  database.exec('CREATE TABLE queue (id TEXT PRIMARY KEY, payload TEXT NOT NULL, state TEXT NOT NULL)');
  const insert = database.prepare("INSERT INTO queue VALUES (?, ?, 'waiting')");
  const finish = database.prepare("UPDATE queue SET state = 'done' WHERE id = ?");
  const contestant = await startExpress(({ correlationId, payload }) => {
    insert.run(correlationId, JSON.stringify(payload));
    queueMicrotask(() => {
      contestant.onHandled(correlationId);
      finish.run(correlationId);
    });
  });
  const { stop } = contestant;
  contestant.stop = async () => {
    await stop();
    database.close();
    rmSync(directory, { recursive: true, force: true });
  };
  return contestant;
}

/** A NATS server beside node:http without a framework: nothing kept, no keys, no limits. Needs nats-server on the PATH. */
export async function startNats(): Promise<Contestant> {
  const nats = await startNatsServer();
  const connection = await connect({ servers: nats.url });
  const publish = (message: Incoming) => connection.publish('agent.skill.request', JSON.stringify(message));
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      publish(JSON.parse(Buffer.concat(chunks).toString()) as Incoming);
      response.setHeader('content-type', 'application/json').end('{"success":true}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const contestant: Contestant = {
    url: addressOf(server),
    publish: async (correlationId) => publish({ correlationId, payload: { content: words } }),
    onHandled: () => undefined,
    async stop() {
      server.closeAllConnections();
      server.close();
      await connection.close();
      await nats.stop();
    },
  };
  connection.subscribe('agent.skill.request', {
    callback: (_error, message) => contestant.onHandled(message.json<Incoming>().correlationId),
  });
  return contestant;
}

async function startExpress(accept: Accept): Promise<Contestant> {
  const app = express();
  app.use(express.json());
  app.post('/publish', (request, response) => {
    accept(request.body);
    response.json({ success: true });
  });
  const server = createServer(app);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: addressOf(server),
    publish: async (correlationId) => accept({ correlationId, payload: { content: words } }),
    onHandled: () => undefined,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
