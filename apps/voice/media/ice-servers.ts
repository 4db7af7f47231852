import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { connect, isIPv6 } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Diagnosis } from '@trunkline/service';
import { connectionFailure, errorMessage, formatDuration, systemCode } from '@trunkline/std';
import type { IceServer } from './peer.ts';

const subject = 'ICE_SERVERS';
const usualLimitMs = 3000;
/** UDP loses packets: the request is sent again, as RFC 8489 wants it. */
const resendMs = 500;
const mostServers = 50;

const headerBytes = 20;
const bindingRequest = 0x0001;
/** Success and error: both come from a server that speaks STUN. */
const bindingResponses = [0x0101, 0x0111];
const magicCookie = 0x2112a442;

interface Place {
  /** Without what may stand before the host. */
  shown: string;
  host: string;
  port: number;
  transport: 'udp' | 'tcp' | 'tls';
}

/** Sends a STUN binding request to each server of ICE_SERVERS, TURN servers too; passwords are not sent. */
export async function diagnoseIceServers(
  servers: readonly IceServer[],
  limitMs = usualLimitMs,
): Promise<Diagnosis[]> {
  const urls = [...new Set(servers.flatMap((server) => server.urls))].slice(0, mostServers);
  return Promise.all(urls.map((url) => diagnose(url, limitMs)));
}

async function diagnose(url: string, limitMs: number): Promise<Diagnosis> {
  const place = placeOf(url);
  const { shown } = place;
  const reason = await whySilent(place, limitMs);
  if (reason === undefined) {
    const untried = /^turn/i.test(url) ? ' Its user name and password were not tried.' : '';
    return { subject, state: 'ok', words: `${shown} answers.${untried}` };
  }
  const advice = 'Check that it runs, that a firewall lets it through, and the address in ICE_SERVERS.';
  return { subject, state: 'failed', words: `Cannot use ${shown}: ${reason}.`, advice };
}

/** Reads `turn:host:3478?transport=tcp` (RFC 7064 and 7065); the schema of ICE_SERVERS has checked its form. */
function placeOf(url: string): Place {
  const [, scheme = '', host = '', port, query = ''] =
    /^(stuns?|turns?):(?:.*@)?(\[[^\]]+\]|[^:?@]+)(?::(\d+))?(?:\?(.*))?$/i.exec(url) ?? [];
  const isSecure = scheme.toLowerCase().endsWith('s');
  const isTcp = new URLSearchParams(query).get('transport') === 'tcp';
  const usualPort = isSecure ? 5349 : 3478;
  return {
    shown: `${scheme}:${host}:${port ?? usualPort}`,
    host: host.replace(/^\[|\]$/g, ''),
    port: Number(port ?? usualPort),
    transport: isSecure ? 'tls' : isTcp ? 'tcp' : 'udp',
  };
}

/** Why no answer to a binding request came; undefined where one did. */
async function whySilent(place: Place, limitMs: number): Promise<string | undefined> {
  const request = Buffer.alloc(headerBytes);
  request.writeUInt16BE(bindingRequest, 0);
  request.writeUInt32BE(magicCookie, 4);
  randomBytes(12).copy(request, 8);
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const timer = setTimeout(() => resolve(`no answer within ${formatDuration(limitMs)}`), limitMs);
  const exchange = {
    request,
    onAnswer: (answer: Buffer) =>
      resolve(isResponse(answer, request) ? undefined : 'what answers there is no STUN or TURN server'),
    onFailure: (error: Error) => resolve(failureOf(error)),
  };
  let close = (): void => undefined;
  try {
    close = place.transport === 'udp' ? askOverUdp(place, exchange) : askOverStream(place, exchange);
    return await promise;
  } catch (error) {
    return failureOf(error);
  } finally {
    clearTimeout(timer);
    close();
  }
}

interface Exchange {
  request: Buffer;
  onAnswer(answer: Buffer): void;
  onFailure(error: Error): void;
}

function askOverUdp({ host, port }: Place, { request, onAnswer, onFailure }: Exchange): () => void {
  const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
  let again: NodeJS.Timeout | undefined;
  let isOver = false;
  socket.on('error', onFailure);
  socket.on('message', onAnswer);
  // Connected, so that a closed port is told and no one else can answer.
  socket.connect(port, host, () => {
    if (isOver) return;
    const send = () => socket.send(request, (error) => error && onFailure(error));
    send();
    again = setInterval(send, resendMs);
  });
  return () => {
    isOver = true;
    clearInterval(again);
    socket.close();
  };
}

function askOverStream({ host, port, transport }: Place, exchange: Exchange): () => void {
  const { request, onAnswer, onFailure } = exchange;
  const socket = transport === 'tls' ? connectTls({ host, port }) : connect({ host, port });
  let answer = Buffer.alloc(0);
  socket.on('error', onFailure);
  socket.on('close', () => onFailure(new Error('it closed the connection')));
  socket.on('data', (bytes: Buffer) => {
    answer = Buffer.concat([answer, bytes]);
    if (answer.length >= headerBytes) onAnswer(answer);
  });
  socket.once(transport === 'tls' ? 'secureConnect' : 'connect', () => socket.write(request));
  return () => socket.destroy();
}

function isResponse(answer: Buffer, request: Buffer): boolean {
  if (answer.length < headerBytes || !bindingResponses.includes(answer.readUInt16BE(0))) return false;
  return answer.subarray(4, headerBytes).equals(request.subarray(4));
}

function failureOf(error: unknown): string {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  return connectionFailure(systemCode(first) ?? errorMessage(first));
}
