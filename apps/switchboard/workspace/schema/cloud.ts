import { z } from 'zod';

const minutes = z.number().positive().max(1440);

/** `cloud.yaml`: folders, calendar and mail of the cloud suite. */
export const cloudSchema = z
  .strictObject({
    drive: z
      .strictObject({ orgFolderId: z.string().default(''), templateFolderId: z.string().optional() })
      .prefault({}),
    calendar: z
      .strictObject({ orgCalendarId: z.string().default(''), pollIntervalMinutes: minutes.default(5) })
      .prefault({}),
    gmail: z
      .strictObject({
        watchLabels: z.array(z.string().min(1)).default([]),
        pollIntervalMinutes: minutes.default(5),
        routingRules: z
          .array(z.strictObject({ label: z.string().min(1), skillHint: z.string().min(1) }))
          .default([]),
      })
      .prefault({}),
  })
  .prefault({});

export type CloudFile = z.output<typeof cloudSchema>;
