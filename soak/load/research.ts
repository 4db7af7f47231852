import { call, follow } from '../http.ts';
import type { Entry, Standing } from '../ledger.ts';
import { type Ground, type Load, oneByOne } from './load.ts';

interface Status {
  status: 'running' | 'complete' | 'error' | 'cancelled';
  awaiting?: 'plan';
  report?: string;
  error?: string;
}

const readMs = 10_000;
const pages: Record<string, string> = {
  'stations.md': 'Tidal power stations use the tide. The station at La Rance has 24 turbines.',
  'costs.md': 'The costs of tidal power are high. A barrage of tidal power lasts for more than a century.',
  'history.md': 'The history of tidal power began with mills. The first tidal power station opened in 1966.',
};

/** Deep research over files that were uploaded; some jobs wait for a person's word on their plan. */
export function researchLoad(ground: Ground): Load {
  const url = ground.urls.research;
  return {
    name: 'research jobs',
    pauseMs: 5000,
    async offer(mark) {
      const plan = ground.random.chance(0.2) ? { plan: 'review' } : {};
      const job = { query: `tidal power ${mark}`, sources: ['files'], ...plan };
      const { isGood, body } = await call<{ researchId: string }>(`${url}/api/research/deep`, job);
      return isGood ? { id: body.researchId, mark } : undefined;
    },
    standings: (entries) => oneByOne(entries, (entry) => jobStanding(url, entry)),
  };
}

/** Files that research may search; each must be kept. */
export async function uploadPages(url: string, files = pages): Promise<void> {
  const form = new FormData();
  for (const [name, text] of Object.entries(files)) form.append('file', new File([text], name));
  const signal = AbortSignal.timeout(readMs);
  const response = await fetch(`${url}/api/files`, { method: 'POST', body: form, signal });
  if (!response.ok) throw new Error(`Research refused the files: ${await response.text()}`);
}

async function jobStanding(url: string, { id }: Entry): Promise<Standing> {
  const { isGood, body } = await call<Status>(`${url}/api/research/deep/${id}/status`);
  if (!isGood) return { state: 'missing', times: 0, reason: 'the job is unknown' };
  if (body.awaiting === 'plan') return { state: 'waiting', times: 0 };
  if (body.status === 'running') return { state: 'pending', times: 0, reason: 'it still works' };
  if (body.status !== 'complete') return { state: 'failed', times: 0, reason: body.error ?? '' };
  if (!body.report) return { state: 'missing', times: 0, reason: 'it is complete without a report' };
  return { state: 'answered', times: await reportsOf(url, id) };
}

/** How often its events tell that the report is whole. */
async function reportsOf(url: string, id: string): Promise<number> {
  let count = 0;
  const signal = AbortSignal.timeout(readMs);
  for await (const { data } of follow({ url: `${url}/api/research/deep/${id}`, signal })) {
    if (data.type === 'synthesis_complete') count += 1;
    if (data.type === 'done') break;
  }
  return count;
}
