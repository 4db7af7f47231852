import { errorMessage } from '@trunkline/std';
import { SpeechError } from '../../speech-error.ts';
import type { SpeechWarnings } from '../../warnings.ts';
import type { ListenOptions, LiveUtterance } from '../recognizer.ts';
import { LiveConnection, type LiveEndpoint } from './live-connection.ts';
import type { LiveWire } from './live-wire.ts';

interface LiveRecognitionOptions extends LiveEndpoint {
  /** Tried in this order until one opens; the one that did is used from then on. */
  wires: readonly LiveWire[];
  warnings: SpeechWarnings;
}

export interface LiveRecognition {
  /** Undefined while the endpoint cannot be had, and for what belongs to no call: whole utterances are to be sent. */
  listen(options: ListenOptions): LiveUtterance | undefined;
  /** The format that the endpoint was found to speak. */
  readonly wire: LiveWire['name'] | undefined;
  close(): void;
}

const mostConnections = 200;
/** Wait before the next try after a failure; doubled with each. */
const [retryMs, longestRetryMs] = [30_000, 300_000];
const warningKey = 'live transcription';

/** Keeps a connection for each call and language while somebody speaks there, and opens another when it breaks. */
export function createLiveRecognition(options: LiveRecognitionOptions): LiveRecognition {
  const { warnings, apiKey } = options;
  const connections = new Map<string, LiveConnection>();
  let wires = options.wires;
  let failures = 0;
  let retryAt = 0;
  let isClosed = false;

  const report = (error: unknown) => {
    const reason = withoutKey(errorMessage(error), apiKey);
    const text = `Live transcription failed: ${reason}. Whole utterances are sent instead, which takes longer.`;
    warnings.report(warningKey, text);
  };
  const fail = (error: Error, wasOpen: boolean) => {
    failures += 1;
    // A connection that broke once is simply opened again.
    const delayMs = wasOpen && failures === 1 ? 0 : Math.min(longestRetryMs, retryMs * 2 ** (failures - 1));
    retryAt = performance.now() + delayMs;
    report(error);
  };
  const open = (key: string, language: string | undefined) => {
    const connection = new LiveConnection(options, wires, language, {
      onOpen: (wire) => {
        wires = [wire];
      },
      onHeard: () => {
        failures = 0;
        warnings.resolve(warningKey, 'live transcription works again');
      },
      onMissed: report,
      onClosed: (error, wasOpen) => {
        if (connections.get(key) === connection) connections.delete(key);
        if (error !== undefined && !isClosed) fail(error, wasOpen);
      },
    });
    connections.set(key, connection);
    return connection;
  };
  return {
    get wire() {
      return wires.length === 1 ? wires[0]?.name : undefined;
    },
    listen({ caller, language, signal }) {
      if (caller === undefined) return undefined;
      const key = `${caller} ${language ?? ''}`;
      const known = connections.get(key);
      if (known !== undefined) return known.listen(signal);
      const isRefused = isClosed || performance.now() < retryAt || connections.size >= mostConnections;
      return isRefused ? undefined : open(key, language).listen(signal);
    },
    close() {
      isClosed = true;
      const reason = new SpeechError('closed', 'speech recognition is closed');
      for (const connection of [...connections.values()]) connection.close(reason);
    },
  };
}

function withoutKey(text: string, apiKey: string | undefined): string {
  return apiKey ? text.replaceAll(apiKey, '[redacted]') : text;
}
