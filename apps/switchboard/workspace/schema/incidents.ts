import { z } from 'zod';

export const severities = ['critical', 'high', 'medium', 'low'] as const;

const incidentSchema = z.strictObject({
  id: z.string().regex(/^INC-\d{3,}$/, 'expected INC- and a number of three digits or more'),
  title: z.string().min(1),
  severity: z.enum(severities),
  status: z.enum(['open', 'investigating', 'resolved']),
  reportedAt: z.string(),
  description: z.string().optional(),
  affectedProjects: z.array(z.string()).optional(),
  assignee: z.string().optional(),
  resolvedAt: z.string().optional(),
  resolutionNote: z.string().optional(),
});

/** `incidents.yaml`. */
export const incidentsSchema = z
  .strictObject({ incidents: z.array(incidentSchema).default([]) })
  .default({ incidents: [] });

export type Incident = z.output<typeof incidentSchema>;
