import type { Diagnosis } from '@trunkline/service';
import { openBus, type SwitchboardOptions } from '@trunkline/switchboard';

const CONNECT_LIMIT_MS = 5000;

/** Enters the NATS servers when some are configured; the embedded bus needs nothing. */
export async function checkBus(options: SwitchboardOptions): Promise<Diagnosis[]> {
  const subject = 'bus';
  if (!options.natsUrl) {
    return [
      { subject, state: 'ok', words: 'embedded. Set NATS_URL to share it between several switchboards.' },
    ];
  }
  try {
    const bus = await openBus(options, { connectTimeoutMs: CONNECT_LIMIT_MS });
    await bus.stop();
    return [{ subject, state: 'ok', words: 'the NATS servers answer and JetStream is ready.' }];
  } catch (error) {
    const advice =
      'Check NATS_URL and the credentials, and that the server runs with JetStream (nats-server -js).';
    return [{ subject, state: 'failed', words: (error as Error).message, advice }];
  }
}
