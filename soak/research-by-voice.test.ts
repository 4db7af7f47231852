import type { Peers } from '@trunkline/service';
import {
  type ModelServer,
  type SearchServer,
  startModelServer,
  startSearchServer,
  temporaryDirectory,
  withoutFence,
} from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { corpus, researcher } from '../apps/research/fixtures/lab.ts';
import { startResearch } from '../apps/research/fixtures/service.ts';
import { startVoice, type TestVoice } from '../apps/voice/voice.suite.ts';

/** The model of both services: it researches for the one, and calls deep_research for the other. */
const research = researcher();
let model: ModelServer;
let search: SearchServer;

beforeAll(async () => {
  search = await startSearchServer({ pages: corpus });
  model = await startModelServer({
    script: (request) => {
      const { messages, tools = [] } = request;
      const last = messages.at(-1);
      if (!tools.some((tool) => tool.function.name === 'deep_research')) return research(request);
      if (last?.role === 'tool') return `Told: ${withoutFence(last.content)}`;
      return { toolCalls: [{ name: 'deep_research', arguments: { query: 'tidal power' } }] };
    },
  });
});
afterAll(async () => {
  model.release();
  await Promise.all([model.stop(), search.stop()]);
});

const token = { RESEARCH_AUTH_TOKEN: 'token-of-research' };
const modelVariables = () => ({ LLM_GATEWAY_URL: model.url, LLM_API_KEY: 'key', LLM_MODEL: 'm' });

async function startResearchService(peers?: Peers) {
  const home = temporaryDirectory();
  const env = { ...modelVariables(), ...token, SEARXNG_URL: search.searxngUrl };
  const service = await startResearch(home.path, env, [], peers);
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= service.stop();
    return stopped;
  };
  onTestFinished(async () => {
    await stop();
    home.remove();
  });
  return { url: service.url, stop };
}

function listen({ voice }: TestVoice): string[] {
  const heard: string[] = [];
  voice.sessions.open({
    id: '1',
    userId: 'default',
    offer: ({ words, spoken }) => {
      heard.push(words);
      spoken();
    },
  });
  return heard;
}

const announced = (heard: string[]) =>
  vi.waitFor(() => expect(heard).toHaveLength(1), { timeout: 100_000 }).then(() => heard[0]);

// A whole job takes seconds on a quiet machine.

describe('research by voice, with the services in one process', () => {
  async function startBoth() {
    const members: { name: string; url: string; state: 'live' }[] = [];
    const peers: Peers = {
      serviceToken: 'service-token',
      agentName: 'agent',
      find: (name) => members.find((member) => member.name === name),
      namesWithKey: () => [],
      onChange: () => undefined,
    };
    const service = await startResearchService(peers);
    members.push({ name: 'research', url: service.url, state: 'live' });
    const env = { ...modelVariables(), A2A_AUTH_TOKEN: 'token-of-voice' };
    return { ...service, voice: await startVoice({ env, peers }) };
  }

  it('announces what the checked report of the research service says', async () => {
    const { voice, url } = await startBoth();
    const heard = listen(voice);
    expect(await voice.say('Find out', { key: 'token-of-voice' })).toContain('The research has begun.');
    expect(await announced(heard)).toMatch(/^Your research says: /);
    const headers = { authorization: `Bearer ${token.RESEARCH_AUTH_TOKEN}` };
    const { jobs } = await (await fetch(`${url}/api/research`, { headers })).json();
    expect(jobs).toMatchObject([{ query: 'tidal power', status: 'complete', citations: {} }]);
  });

  it('says in words why the job failed', async () => {
    const { voice } = await startBoth();
    search.faults.searxng = 'cut';
    onTestFinished(() => {
      search.faults.searxng = 'none';
    });
    const heard = listen(voice);
    await voice.say('Find out', { key: 'token-of-voice' });
    expect(await announced(heard)).toMatch(/I could not finish "tidal power": .*SearXNG/);
  });
});

describe('research by voice, with services of their own', () => {
  async function startBoth(more: Record<string, string> = token) {
    const service = await startResearchService();
    const env = { ...modelVariables(), RESEARCH_URL: service.url, A2A_AUTH_TOKEN: 'token-of-voice', ...more };
    return { ...service, voice: await startVoice({ env }) };
  }

  it('asks at RESEARCH_URL with RESEARCH_AUTH_TOKEN, and keeps the report for the next call', async () => {
    const { voice } = await startBoth();
    expect(await voice.say('Find out', { key: 'token-of-voice' })).toContain('The research has begun.');
    const waiting = () =>
      voice.voice.database.prepare<{ sender: string }>('SELECT sender FROM deliveries').all();
    await vi.waitFor(() => expect(waiting()).toEqual([{ sender: 'Your research' }]), { timeout: 100_000 });
    expect(await announced(listen(voice))).toMatch(/^Your research says: /);
  });

  it('names the variable when the token is wrong, and the service when it is down', async () => {
    const { voice, stop } = await startBoth({ RESEARCH_AUTH_TOKEN: 'wrong' });
    const say = () => voice.say('Find out', { key: 'token-of-voice' });
    expect(await say()).toContain('Set RESEARCH_AUTH_TOKEN');
    await stop();
    expect(await say()).toMatch(/could not be reached.*npm run research/);
  });
});
