import { isMainThread } from 'node:worker_threads';
import { wordsOf } from '../errors.ts';
import { mediaErrors } from './errors.ts';
import type { PeerMaker } from './peer.ts';

export type Wrtc = typeof import('@roamhq/wrtc');

let loading: Promise<Wrtc> | undefined;

/** The maker of peers on @roamhq/wrtc, which is loaded when the first caller comes. */
export async function loadWrtcPeers(): Promise<PeerMaker> {
  const wrtc = await loadWrtc();
  const { WrtcPeer } = await import('./wrtc-peer.ts');
  return (settings, events) => new WrtcPeer(wrtc, settings, events);
}

/** The library itself. */
export async function loadWrtc(): Promise<Wrtc> {
  // The library ends the process when it is loaded anywhere else.
  if (!isMainThread) throw mediaErrors.webrtc_missing({ reason: 'it works only in the main thread' });
  loading ??= importWrtc();
  try {
    return await loading;
  } catch (error) {
    loading = undefined;
    throw mediaErrors.webrtc_missing({ reason: firstLine(wordsOf(error)) }, { cause: error });
  }
}

async function importWrtc(): Promise<Wrtc> {
  const { default: wrtc } = (await import('@roamhq/wrtc')) as unknown as { default: Wrtc };
  // The library crashes when a process that used it runs out of work and ends by itself; ending it is harmless.
  process.once('beforeExit', () => process.exit());
  return wrtc;
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? text;
}
