import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ToolReports } from './tool-reports.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const call = { toolCallId: 'call_1', name: 'print' };

it('holds words that come too soon, and passes on the newest of them', async () => {
  const reports = new ToolReports();
  const texts = () => reports.take().map(({ text }) => text);
  reports.add(call, '10 %');
  expect(texts()).toEqual(['10 %']);
  vi.advanceTimersByTime(200);
  reports.add(call, '50 %');
  reports.add(call, '100 %, waiting for the printer');
  expect(texts()).toEqual([]);
  vi.advanceTimersByTime(300);
  await reports.arrival;
  expect(texts()).toEqual(['100 %, waiting for the printer']);
  expect(vi.getTimerCount()).toBe(0);
});

it('says nothing of a call that is over', () => {
  const reports = new ToolReports();
  for (const text of ['10 %', '20 %']) reports.add(call, text);
  reports.end(call.toolCallId);
  expect(vi.getTimerCount()).toBe(0);
  expect(reports.take()).toEqual([]);
});
