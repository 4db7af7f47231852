import { defineTool, type Tool } from '@trunkline/llm';
import { z } from 'zod';

export interface CurrentTimeOptions {
  now?: () => Date;
}

const input = z.object({
  timezone: z.string().default('UTC').describe('IANA name of a time zone, such as Europe/Berlin.'),
});

/** Tells the time in a zone: an ISO timestamp with the zone's name, then the same for people. */
export function createCurrentTime({ now = () => new Date() }: CurrentTimeOptions = {}): Tool {
  return defineTool({
    name: 'current_time',
    effects: ['reads'],
    description: 'Tells the current date and time in a time zone.',
    input,
    async execute({ timezone }) {
      const zone = timezone.trim() || 'UTC';
      if (!isZone(zone))
        return `Error: unknown timezone '${zone}'. Use an IANA name such as UTC, Europe/Berlin or Asia/Tokyo.`;
      const time = now();
      return `${isoTime(time, zone)} (${zone})\n${humanTime(time, zone)}`;
    },
  });
}

function isZone(zone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone !== '';
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** `2026-03-04T11:00:00+01:00`, as the clock of that zone shows it. */
function isoTime(time: Date, zone: string): string {
  const local = new Intl.DateTimeFormat('sv-SE', {
    timeZone: zone,
    dateStyle: 'short',
    timeStyle: 'medium',
  }).format(time);
  return `${local.replace(' ', 'T')}${offsetOf(time, zone)}`;
}

function offsetOf(time: Date, zone: string): string {
  const parts = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' }).formatToParts(
    time,
  );
  const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';
  return name.replace('GMT', '') || '+00:00';
}

function humanTime(time: Date, zone: string): string {
  return new Intl.DateTimeFormat('en-GB', { timeZone: zone, dateStyle: 'full', timeStyle: 'long' }).format(
    time,
  );
}
