import { type CorpusPage, type SearchServer, startSearchServer } from '@trunkline/testing';
import { afterAll, beforeAll, expect } from 'vitest';
import { SwitchboardClient } from '../commands/send.ts';
import { type Locked, type Name, startLocked } from '../security/security.suite.ts';

const pages: CorpusPage[] = [
  {
    path: '/tides',
    title: 'Tidal power',
    text: 'Tidal power turns the energy of tides into electricity. Heat pumps move heat instead of making it.',
  },
];

export interface Reply {
  response: string;
  state: string;
}

interface Report {
  status: string;
  report: string;
  citations: { total: number; supported: number };
}

/** All four services with the demo model, for the tests of a file, and what people do with them. */
export function servicesOfDemo() {
  let locked: Locked;
  let search: SearchServer;
  beforeAll(async () => {
    search = await startSearchServer({ pages });
    // As on a first run: nothing is set but where to search, so that nothing leaves this machine.
    const env = { SEARXNG_URL: search.searxngUrl, FETCH_ALLOWED_CIDRS: '127.0.0.0/8' };
    const open = { A2A_AUTH_TOKEN: '', RESEARCH_AUTH_TOKEN: '', SWITCHBOARD_API_KEY: '' };
    locked = await startLocked({ env: { ...env, ...open }, files: { 'voice/config/users.yaml': undefined } });
  });
  afterAll(async () => {
    await locked.stop();
    await search.stop();
  });

  async function call<Body>(name: Name, path: string, body?: unknown): Promise<Body> {
    const response = await fetch(`${locked.target(name).url}${path}`, {
      headers: { 'content-type': 'application/json' },
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    });
    expect(response.status, `${path} of ${name}`).toBeLessThan(300);
    return (await response.json()) as Body;
  }

  let sessions = 0;

  /** Says it to the agent, in a conversation of its own unless one is named. */
  async function say(message: string, session = `suggestion-${++sessions}`): Promise<Reply> {
    return await call<Reply>('agent', '/api/chat', { message, session_id: session });
  }

  /** As `trunkline send` does it. */
  async function send(text: string, skill?: string): Promise<{ text: string; failed: boolean }> {
    const client = new SwitchboardClient({
      url: locked.target('switchboard').url,
      key: undefined,
      operatorHeaders: {},
      timeoutS: 60,
    });
    for await (const event of client.send(text, skill))
      return event.type === 'end' ? event : { text: event.text, failed: false };
    throw new Error('no answer came');
  }

  function spoken(words: RegExp): (text: string) => Promise<void> {
    return async (text) => {
      const message = { role: 'user', messageId: crypto.randomUUID(), parts: [{ kind: 'text', text }] };
      const body = { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } };
      expect(JSON.stringify(await call('voice', '/a2a', body)).replaceAll('\\n', '\n')).toMatch(words);
    };
  }

  async function reported(order: { query: string; sources?: string[] }): Promise<Report> {
    const { researchId } = await call<{ researchId: string }>('research', '/api/research/deep', order);
    const path = `/api/research/deep/${researchId}`;
    // The events end with the job.
    await (await fetch(`${locked.target('research').url}${path}`)).text();
    const report = await call<Report>('research', `${path}/status`);
    expect(report).toMatchObject({ status: 'complete' });
    return report;
  }

  /** As the research chat shows it, once its citations are checked. */
  async function checkedAnswer(content: string): Promise<{ text: string; citations: unknown }> {
    const response = await fetch(`${locked.target('research').url}/api/chat`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ messages: [{ role: 'user', content }] }),
    });
    const lines = (await response.text()).split('\n');
    const [checked] = lines.filter((line) => line.includes('"citations"')).map((line) => line.slice(2));
    const [answer] = JSON.parse(checked ?? '[]') as { text: string; citations: unknown }[];
    return answer ?? { text: '', citations: undefined };
  }

  return { fleet: () => locked, call, say, send, spoken, reported, checkedAnswer };
}
