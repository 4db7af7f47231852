import { describe, expect, it } from 'vitest';
import { callTool } from '../call-tool.suite.ts';
import { createCurrentTime } from './current-time.ts';

const at = (iso: string) => createCurrentTime({ now: () => new Date(iso) });

describe('current_time', () => {
  it('gives an ISO line with the zone and a line for people, in UTC by default [A071]', async () => {
    const [iso, human, ...rest] = (await callTool(at('2026-03-04T10:05:06Z'), {})).split('\n');
    expect(iso).toBe('2026-03-04T10:05:06+00:00 (UTC)');
    expect(human).toMatch(/^Wednesday,? 4 March 2026 at 10:05:06 UTC$/);
    expect(rest).toEqual([]);
  });

  it.each([
    ['Asia/Kathmandu', '2026-03-04T15:50:06+05:45 (Asia/Kathmandu)'],
    ['America/St_Johns', '2026-03-04T06:35:06-03:30 (America/St_Johns)'],
    ['Pacific/Kiritimati', '2026-03-05T00:05:06+14:00 (Pacific/Kiritimati)'],
  ])('shows the clock of %s', async (timezone, line) => {
    expect((await callTool(at('2026-03-04T10:05:06Z'), { timezone })).split('\n')[0]).toBe(line);
  });

  it('follows a clock change', async () => {
    const before = await callTool(at('2026-03-29T00:59:59Z'), { timezone: 'Europe/Berlin' });
    const after = await callTool(at('2026-03-29T01:00:00Z'), { timezone: 'Europe/Berlin' });
    expect(before).toContain('2026-03-29T01:59:59+01:00');
    expect(after).toContain('2026-03-29T03:00:00+02:00');
  });

  it('names a zone that it does not know [A071]', async () => {
    expect(await callTool(at('2026-03-04T10:05:06Z'), { timezone: 'Mars/Olympus' })).toMatch(
      /^Error: unknown timezone 'Mars\/Olympus'\. /,
    );
  });
});
