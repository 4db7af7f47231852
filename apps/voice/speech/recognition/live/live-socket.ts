import { SpeechError } from '../../speech-error.ts';

/** Node's own WebSocket takes headers, which the type of browsers has not. */
type NodeWebSocket = new (url: string, options: { headers: Record<string, string> }) => WebSocket;

const explainMs = 3000;

/** Opens a WebSocket at an address that begins with http; a failure says what to change. */
export async function openSocket(
  address: string,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<WebSocket> {
  signal.throwIfAborted();
  const Socket = WebSocket as unknown as NodeWebSocket;
  const socket = new Socket(address.replace(/^http/, 'ws'), { headers });
  socket.binaryType = 'arraybuffer';
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const leave = () => {
    socket.close();
    resolve(false);
  };
  socket.addEventListener('open', () => resolve(true), { once: true });
  socket.addEventListener('close', () => resolve(false), { once: true });
  socket.addEventListener('error', () => resolve(false), { once: true });
  signal.addEventListener('abort', leave, { once: true });
  const isOpen = await promise;
  signal.removeEventListener('abort', leave);
  if (isOpen) return socket;
  throw await explain(address, headers, signal);
}

/** A WebSocket does not say why it failed; a plain request to the same place does. */
async function explain(
  address: string,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<SpeechError> {
  if (signal.aborted)
    return new SpeechError('timeout', 'the endpoint does not open the connection in time; check STT_URL');
  try {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(explainMs)]);
    const response = await fetch(address, { headers, redirect: 'manual', signal: limit });
    await response.body?.cancel();
    const { status } = response;
    const advice = status === 401 || status === 403 ? 'STT_API_KEY' : 'STT_URL, STT_MODEL and STT_STREAMING';
    return new SpeechError('refused', `the endpoint refused the connection (${status}); check ${advice}`);
  } catch (cause) {
    return new SpeechError('unreachable', 'the endpoint does not answer; check STT_URL', { cause });
  }
}
