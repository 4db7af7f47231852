import { z } from 'zod';

const serverUrl = z
  .string()
  .regex(/^(stun|stuns|turn|turns):[^\s/]+$/i, 'an address such as stun:host:3478 or turn:host:3478');

/** STUN and TURN servers, as browsers take them. */
export const iceServersSchema = z.array(
  z
    .strictObject({
      urls: z.union([serverUrl, z.array(serverUrl).min(1)]),
      username: z.string().optional(),
      credential: z.string().optional(),
    })
    .refine(
      ({ urls, username, credential }) =>
        ![urls].flat().some(isRelay) || (username !== undefined && credential !== undefined),
      'a turn: server needs username and credential',
    ),
);

export type IceServer = Readonly<z.output<typeof iceServersSchema>[number]>;

export interface PortRange {
  min: number;
  max: number;
}

const highestPort = 65_535;

/** The range that "40000-40100" means; undefined where the text is none. */
export function portRangeOf(text: string): PortRange | undefined {
  const [, low, high] = /^(\d+)\s*-\s*(\d+)$/.exec(text) ?? [];
  const [min, max] = [Number(low), Number(high)];
  return min >= 1 && min <= max && max <= highestPort ? { min, max } : undefined;
}

function isRelay(url: string): boolean {
  return /^turns?:/i.test(url);
}
