import { z } from 'zod';

const roles = z
  .strictObject({ helm: z.string().min(1).default('helm'), reviewer: z.string().min(1).default('reviewer') })
  .prefault({});

/** `fleet.yaml`: who takes what is addressed to nobody, and who reviews. */
export const fleetSchema = z
  .strictObject({
    roles,
    codehost: z.strictObject({ reviewerBotLogins: z.array(z.string()).default([]) }).prefault({}),
  })
  .prefault({});

export type FleetFile = z.output<typeof fleetSchema>;
