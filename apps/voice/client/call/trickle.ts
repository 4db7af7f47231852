import type { Api } from '@trunkline/ui';

const BATCH_MS = 40;

interface Candidate {
  candidate: string;
  sdp_mid: string;
  sdp_mline_index: number;
}

/** Sends network candidates as they are found; what is found before the service has answered waits. */
export class Trickle {
  readonly #api: Api;
  readonly #onFailed: (error: unknown) => void;
  #connection: string | undefined;
  #waiting: Candidate[] = [];
  #timer: number | undefined;

  constructor(api: Api, onFailed: (error: unknown) => void) {
    this.#api = api;
    this.#onFailed = onFailed;
  }

  /** Takes a candidate; null says that there are no more. */
  push(found: RTCIceCandidate | null): void {
    this.#waiting.push({
      candidate: found?.candidate ?? '',
      sdp_mid: found?.sdpMid ?? '0',
      sdp_mline_index: found?.sdpMLineIndex ?? 0,
    });
    this.#schedule();
  }

  /** The service knows the connection by this name from now on. */
  open(connection: string): void {
    this.#connection = connection;
    this.#schedule();
  }

  stop(): void {
    window.clearTimeout(this.#timer);
    this.#connection = undefined;
    this.#waiting = [];
  }

  #schedule(): void {
    if (this.#connection === undefined || this.#waiting.length === 0 || this.#timer !== undefined) return;
    this.#timer = window.setTimeout(() => {
      this.#timer = undefined;
      this.#send().catch(this.#onFailed);
    }, BATCH_MS);
  }

  async #send(): Promise<void> {
    if (this.#connection === undefined) return;
    const candidates = this.#waiting.splice(0);
    const body = { pc_id: this.#connection, candidates };
    await this.#api.request('/api/offer', { method: 'PATCH', body });
  }
}
