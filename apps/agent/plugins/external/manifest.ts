import { join } from 'node:path';
import { loadYaml } from '@trunkline/config';
import { z } from 'zod';

/** What a plugin says of itself, and all that it may do. */
const manifestSchema = z.strictObject({
  id: z.string().regex(/^[a-z][a-z0-9-]{0,63}$/, 'use small letters, digits and -'),
  description: z.string().default(''),
  /** The module, beside the manifest. */
  entry: z.string().default('index.js'),
  timeout_s: z.number().positive().max(600).default(30),
  permissions: z
    .strictObject({
      /** Hosts that it may fetch from; `*.example.com` stands for all below. */
      network: z.array(z.string()).default([]),
      /** Variables that it sees. */
      environment: z.array(z.string().regex(/^[A-Z][A-Z0-9_]*$/)).default([]),
    })
    .prefault({}),
});

export type Manifest = z.output<typeof manifestSchema>;

export async function readManifest(directory: string): Promise<Manifest> {
  return await loadYaml(join(directory, 'plugin.yaml'), manifestSchema);
}

export function mayFetch(url: URL, network: readonly string[]): boolean {
  const host = url.hostname.toLowerCase();
  return network.some((rule) => {
    const name = rule.toLowerCase();
    return name.startsWith('*.') ? host.endsWith(name.slice(1)) : host === name;
  });
}
