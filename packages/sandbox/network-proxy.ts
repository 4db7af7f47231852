import { mkdtemp, rm } from 'node:fs/promises';
import {
  type ClientRequest,
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http';
import { BlockList, connect, type Socket } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Duplex, pipeline } from 'node:stream';
import { type AddressPolicyOptions, createAddressPolicy, HttpError } from '@trunkline/http';
import { errorMessage } from '@trunkline/std';

export interface NetworkProxyOptions extends AddressPolicyOptions {
  /**
   * Names such as `api.example.com`, `*.example.com` or `db.example.com:5432`; without a port 80 and 443 are open.
   * `public`: all hosts and ports that lie outside of this machine and private networks.
   */
  hosts: readonly string[] | 'public';
  /** Given by tests: where an address that may be reached really is. */
  dial?: (address: string) => string;
  /** Given by tests: the addresses of this machine. */
  interfaces?: typeof networkInterfaces;
}

export interface NetworkProxy {
  /** The unix socket on which it listens. */
  socket: string;
  /** Hosts that were asked for and refused, in order, each once. */
  refused: readonly string[];
  close(): Promise<void>;
}

const MAX_CONNECTIONS = 100;
const MAX_REFUSED = 50;
const CONNECT_MS = 15_000;
/** A tunnel without a byte for this long is closed. */
const IDLE_MS = 10 * 60_000;

/** The only way out of a sandbox whose network is neither open nor closed: a proxy for HTTP and CONNECT that knows the hosts. */
export async function openNetworkProxy(options: NetworkProxyOptions): Promise<NetworkProxy> {
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-proxy-'));
  const socket = join(folder, 'proxy.sock');
  const gate = createGate(options);
  const open = new Set<Duplex>();
  const server = createServer((incoming, response) => void forward(gate, incoming, response));
  server.maxConnections = MAX_CONNECTIONS;
  server.on('connection', (connection) => {
    open.add(connection);
    connection.once('close', () => open.delete(connection));
  });
  server.on('connect', (incoming, client: Duplex, head: Buffer) => void tunnel(gate, incoming, client, head));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(socket, resolve);
  });
  server.unref();
  return {
    socket,
    refused: gate.refused,
    async close() {
      for (const connection of open) connection.destroy();
      await new Promise((resolve) => server.close(resolve));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

interface Gate {
  refused: readonly string[];
  /** The address to connect to; throws for a host that is not listed or leads to a private address. */
  pass(host: string, port: number): Promise<string>;
}

function createGate(options: NetworkProxyOptions): Gate {
  const { hosts, dial = (address) => address, interfaces = networkInterfaces, ...policyOptions } = options;
  const policy = createAddressPolicy(policyOptions);
  const refused: string[] = [];
  return {
    refused,
    async pass(host, port) {
      try {
        if (hosts !== 'public' && !hosts.some((rule) => matches(rule, host, port)))
          throw new Error(
            `The sandbox refuses ${host}:${port}. It lets through only: ${hosts.join(', ') || 'nothing'}.`,
          );
        const [first] = await policy
          .resolve(host, AbortSignal.timeout(CONNECT_MS))
          .catch((error: unknown) => {
            throw hosts === 'public' ? withAdvice(error, host) : error;
          });
        if (first === undefined) throw new Error(`No address is known for the host ${host}.`);
        // A rented server has a public address, and behind it are ports that its firewall keeps from the internet.
        if (hosts === 'public' && isOwn(first, interfaces()))
          throw new Error(`${host} leads to this machine. ${advice(host)}`);
        return dial(first.address);
      } catch (error) {
        if (!refused.includes(host) && refused.length < MAX_REFUSED) refused.push(host);
        throw error;
      }
    },
  };
}

function isOwn(
  { address, family }: { address: string; family: number },
  interfaces: ReturnType<typeof networkInterfaces>,
): boolean {
  const own = new BlockList();
  for (const each of Object.values(interfaces).flatMap((known) => known ?? []))
    own.addAddress(each.address, each.family === 'IPv6' ? 'ipv6' : 'ipv4');
  return own.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

/** What FETCH_ALLOWED_HOSTS opens for the services does not count for a program by itself. */
function withAdvice(error: unknown, host: string): unknown {
  if (!(error instanceof HttpError) || error.code !== 'address_refused') return error;
  return new Error(`${error.message.split('. ')[0]}. ${advice(host)}`);
}

function advice(host: string): string {
  return `A program whose network is "public" reaches neither this machine nor private networks: list ${host} under "sandbox: { network: { hosts: [...] } }", and in FETCH_ALLOWED_HOSTS if it is private.`;
}

/** Whether a rule of the allow-list opens a port of a host. */
export function matches(rule: string, host: string, port: number): boolean {
  const [, name = '', rulePort] = /^(.*?)(?::(\d+))?$/.exec(rule.trim().toLowerCase()) ?? [];
  const isOpenPort = rulePort === undefined ? port === 80 || port === 443 : port === Number(rulePort);
  const asked = host.toLowerCase().replace(/\.+$/, '');
  return isOpenPort && (name.startsWith('*.') ? asked.endsWith(name.slice(1)) : asked === name);
}

async function tunnel(gate: Gate, incoming: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
  client.on('error', () => client.destroy());
  const target = URL.parse(`http://${incoming.url ?? ''}`);
  try {
    if (target === null || target.pathname !== '/') throw new Error('CONNECT needs a host and a port.');
    const port = Number(target.port || 80);
    const upstream = await connected(await gate.pass(target.hostname, port), port);
    // It may have gone while the other end was being reached.
    if (client.destroyed) return void upstream.destroy();
    client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    upstream.write(head);
    upstream.setTimeout(IDLE_MS, () => upstream.destroy());
    upstream.on('error', () => client.destroy());
    upstream.once('close', () => client.destroy());
    client.once('close', () => upstream.destroy());
    client.pipe(upstream).pipe(client);
  } catch (error) {
    const words = `${errorMessage(error)}\n`;
    const length = Buffer.byteLength(words);
    // Clients show the status line of a refused CONNECT and rarely its body.
    const reason = words.trim().replace(/[^\x20-\x7e]/g, '?');
    client.end(
      `HTTP/1.1 403 ${reason}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: ${length}\r\nconnection: close\r\n\r\n${words}`,
    );
  }
}

function connected(host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, timeout: CONNECT_MS });
    socket.once('error', reject);
    socket.once('timeout', () => socket.destroy(new Error(`${host}:${port} did not answer in time.`)));
    socket.once('connect', () => {
      socket.off('error', reject);
      socket.setTimeout(0);
      resolve(socket);
    });
  });
}

/** A request for plain HTTP: the whole address stands in its first line. */
async function forward(gate: Gate, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const fail = (status: number, error: unknown) => {
    if (response.headersSent) response.destroy();
    else response.writeHead(status, { 'content-type': 'text/plain' }).end(`${errorMessage(error)}\n`);
  };
  response.on('error', () => response.destroy());
  const target = URL.parse(incoming.url ?? '');
  if (target === null || target.protocol !== 'http:')
    return fail(400, new Error('This is a proxy: ask for a whole http address.'));
  const port = Number(target.port || 80);
  let address: string;
  try {
    address = await gate.pass(target.hostname, port);
  } catch (error) {
    return fail(403, error);
  }
  let outgoing: ClientRequest;
  try {
    outgoing = request({
      host: address,
      port,
      method: incoming.method,
      path: `${target.pathname}${target.search}`,
      headers: { ...endToEnd(incoming.headers), host: target.host },
      timeout: IDLE_MS,
      // No connection is shared with other programs, whose answers this one could disturb.
      agent: false,
    });
  } catch (error) {
    return fail(502, error);
  }
  outgoing.once('response', (answer) => {
    const { statusCode = 0 } = answer;
    try {
      if (statusCode < 200) throw new Error(`${target.host} answered with the status ${statusCode}.`);
      response.writeHead(statusCode, endToEnd(answer.headers));
    } catch (error) {
      answer.destroy();
      return fail(502, error);
    }
    // Whichever end breaks, the other is closed.
    pipeline(answer, response, () => undefined);
  });
  outgoing.once('timeout', () => outgoing.destroy(new Error(`${target.host} did not answer in time.`)));
  outgoing.on('error', (error) => fail(502, error));
  outgoing.once('upgrade', (_answer, socket) => {
    socket.destroy();
    fail(502, new Error(`${target.host} changes the protocol, which the proxy does not.`));
  });
  response.once('close', () => outgoing.destroy());
  pipeline(incoming, outgoing, () => undefined);
}

/** Headers that are for one connection only; the proxy has its own on either side. */
const HOP_BY_HOP = ['connection', 'keep-alive', 'te', 'trailer', 'upgrade', 'expect'];
/** Stay although `connection` may list them: without them nobody knows where a body ends. */
const FRAMING = ['content-length', 'transfer-encoding'];

function endToEnd(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const listed = (headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase());
  const dropped = new Set([...HOP_BY_HOP, ...listed.filter((name) => !FRAMING.includes(name))]);
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !dropped.has(name) && !name.startsWith('proxy-')),
  );
}
