import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';

/**
 * `answered`: the server is there. `forgotten`: it lost the session before it did anything. `unsent`: nothing has reached
 * it. `cut`: the network, or a gateway, failed meanwhile. `closed`: the connection ended, as when a program dies.
 * `lost`: it cannot be used as it is.
 */
type CallFailure = 'answered' | 'timed-out' | 'forgotten' | 'unsent' | 'cut' | 'closed' | 'lost';

/** Of Node and of its fetch: no connection came about. */
const unsentCodes = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT']);
/** The server, or the way to it, broke down after the request was written. */
const cutCodes = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'ETIMEDOUT', 'UND_ERR_SOCKET']);
const gatewayErrors = new Set([502, 503, 504]);
const mostCauses = 5;

export function failureOf(error: unknown): CallFailure {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (cause instanceof McpError) {
    if (cause.code === ErrorCode.RequestTimeout) return 'timed-out';
    return cause.code === ErrorCode.ConnectionClosed ? 'closed' : 'answered';
  }
  if (cause instanceof StreamableHTTPError) {
    // Some servers say "not initialized" where the protocol asks for status 404.
    const isForgotten =
      cause.code === 404 || (cause.code === 400 && /session|initialized/i.test(cause.message));
    if (isForgotten) return 'forgotten';
    return gatewayErrors.has(cause.code ?? 0) ? 'cut' : 'lost';
  }
  const causes = causesOf(error);
  if (causes.some(isUnsent)) return 'unsent';
  return causes.some(({ code }) => cutCodes.has(String(code))) ? 'cut' : 'lost';
}

/** Whether a call may be made again. `isConnected`: it was, so that the server may have got the call. */
export function mayRepeat(failure: CallFailure, isConnected: boolean, isRepeatable: boolean): boolean {
  if (failure === 'unsent') return true;
  if (!isConnected) return failure === 'cut';
  return failure === 'forgotten' || (isRepeatable && (failure === 'cut' || failure === 'closed'));
}

interface Cause {
  code?: unknown;
  syscall?: unknown;
  message?: unknown;
  cause?: unknown;
}

function isUnsent({ code, syscall, message }: Cause): boolean {
  // The SDK's words for a session that was closed before.
  return unsentCodes.has(String(code)) || syscall === 'connect' || message === 'Not connected';
}

function causesOf(error: unknown): Cause[] {
  const causes: Cause[] = [];
  for (let next = error; next instanceof Error && causes.length < mostCauses; next = next.cause)
    causes.push(next as Cause);
  return causes;
}
