import { connect } from 'node:net';
import { connectionFailure, errorMessage, systemCode } from '@trunkline/std';

const PORTS: Readonly<Record<string, number>> = { 'https:': 443, 'wss:': 443, 'nats:': 4222, 'tls:': 4222 };
const HTTP_PORT = 80;

/** Why nothing takes a connection at an address that the operator set; undefined where something does. Nothing is sent. */
export function whyUnreachable(url: string, timeoutMs: number): Promise<string | undefined> {
  const { hostname, port, protocol } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? (PORTS[protocol] ?? HTTP_PORT) : Number(port),
      timeout: timeoutMs,
    });
    const end = (reason: string | undefined) => {
      socket.destroy();
      resolve(reason);
    };
    socket.once('connect', () => end(undefined));
    socket.once('timeout', () => end(connectionFailure('ETIMEDOUT')));
    socket.once('error', (error) => end(connectionFailure(codeOf(error))));
  });
}

/** An address with several records fails with one error for each. */
function codeOf(error: Error): string {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  return systemCode(first) ?? errorMessage(first);
}
