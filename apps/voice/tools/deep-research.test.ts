import { createA2aServer, type ExecutionEvent } from '@trunkline/a2a';
import { createApp, serve } from '@trunkline/http';
import { freePort, startModelServer, temporaryDirectory, withoutFence } from '@trunkline/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { startVoice, type TestVoice } from '../voice.suite.ts';

/** Long enough for a busy machine. */
const eventually = (check: () => void) => vi.waitFor(check, { timeout: 60_000 });

const question = 'Why is the sky blue?';
const ignore = () => undefined;
const silent = { debug: ignore, info: ignore, warn: ignore, error: ignore, child: () => silent };

/** A real A2A service with a task for each question; each ends when its answer is given. */
async function startResearch({ token, publicUrl }: { token?: string; publicUrl?: string } = {}) {
  const directory = temporaryDirectory();
  const port = await freePort();
  const asked: string[] = [];
  let answer = Promise.withResolvers<ExecutionEvent>();
  const open = async () => {
    const server = createA2aServer({
      directory: directory.path,
      executor: {
        async *execute({ text }, signal) {
          asked.push(text);
          yield { type: 'progress', text: 'Planning the research' };
          const stopped = new Promise<never>((_resolve, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason), { once: true });
          });
          yield await Promise.race([answer.promise, stopped]);
        },
      },
      card: () => ({
        name: 'research',
        description: 'Researches.',
        version: '1',
        publicUrl: publicUrl ?? `http://127.0.0.1:${port}`,
        skills: [],
      }),
      ...(token !== undefined && { credentials: { bearer: token } }),
      warnWhenOpen: false,
      logger: silent,
    });
    const app = createApp({
      service: 'research',
      version: '1',
      logger: silent,
      renderError: (error) => ({ body: { error: error.message } }),
      health: () => ({ status: 200, body: {} }),
    });
    server.mount(app);
    const { stop } = await serve(app, { host: '127.0.0.1', port, portVariable: 'PORT', logger: silent });
    return async () => {
      server.stop();
      await stop();
    };
  };
  let close = await open();
  onTestFinished(async () => {
    await close();
    directory.remove();
  });
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    answer: (event: ExecutionEvent) => answer.resolve(event),
    async restart() {
      await close();
      answer = Promise.withResolvers<ExecutionEvent>();
      close = await open();
    },
    stop: () => close(),
  };
}

/** The assistant calls deep_research at once and repeats what the tool said. */
async function startModel(): Promise<Record<string, string>> {
  const server = await startModelServer({
    script: ({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? `Told: ${withoutFence(messages.at(-1)?.content)}`
        : { toolCalls: [{ name: 'deep_research', arguments: { query: question } }] },
  });
  onTestFinished(() => server.stop());
  return { LLM_URL: server.url, LLM_MODEL: 'm' };
}

function listen(voice: TestVoice): string[] {
  const heard: string[] = [];
  voice.voice.sessions.open({
    id: '1',
    userId: 'default',
    offer: ({ words, spoken }) => {
      heard.push(words);
      spoken();
    },
  });
  return heard;
}

async function startBoth(path = '', publicUrl?: string) {
  const research = await startResearch(publicUrl === undefined ? {} : { publicUrl });
  const env = { ...(await startModel()), RESEARCH_URL: research.url + path };
  const voice = await startVoice({ env });
  return { research, voice, restart: () => startVoice({ home: voice.home, env }) };
}

const done: ExecutionEvent = { type: 'completed', text: 'Because of scattering.' };
const result = 'Your research says: Because of scattering.';

describe('deep research', () => {
  it('returns at once, and its result is announced when it is there', async () => {
    const { research, voice } = await startBoth();
    const heard = listen(voice);
    expect(await voice.say('Find out')).toContain('Told: The research has begun.');
    expect(heard).toEqual([]);
    research.answer(done);
    await eventually(() => expect(heard).toEqual([result]));
    expect(research.asked).toEqual([question]);
    expect((await voice.get('/api/metrics')).body.tool_calls_by_name).toEqual({ deep_research: 1 });
  });

  it.each([
    ['/a2a', undefined],
    ['/.well-known/agent-card.json', undefined],
    ['', 'https://research.invalid/research'],
    ['/.well-known/agent-card.json', 'https://192.0.2.1/research'],
  ])(
    'is asked for where RESEARCH_URL names base, endpoint or card: %s, public address %s',
    async (path, publicUrl) => {
      const { research, voice } = await startBoth(path, publicUrl);
      expect(await voice.say('Find out')).toContain('Told: The research has begun.');
      expect(research.asked).toEqual([question]);
    },
  );

  it('keeps a result for a user whose call has ended', async () => {
    const { research, voice } = await startBoth();
    await voice.say('Find out');
    research.answer(done);
    const waiting = () => voice.voice.database.prepare('SELECT sender FROM deliveries').all();
    await eventually(() => expect(waiting()).toEqual([{ sender: 'Your research' }]));
    expect(listen(voice)).toEqual([result]);
  });

  it('announces a failure in words', async () => {
    const { research, voice } = await startBoth();
    const heard = listen(voice);
    await voice.say('Find out');
    research.answer({ type: 'failed', message: 'SearXNG cannot be reached' });
    await eventually(() => expect(heard).toHaveLength(1));
    expect(heard[0]).toBe(
      `Your research says: I could not finish "${question}": The agent research could not do it: SearXNG cannot be reached`,
    );
  });

  it('goes on while voice restarts, and is not submitted again', async () => {
    const { research, voice, restart } = await startBoth();
    await voice.say('Find out');
    await voice.stop();
    research.answer(done);
    const heard = listen(await restart());
    await eventually(() => expect(heard).toEqual([result]));
    expect(research.asked).toHaveLength(1);
  });

  it('is submitted again when the research service restarts', async () => {
    const { research, voice } = await startBoth();
    const heard = listen(voice);
    await voice.say('Find out');
    await research.restart();
    await eventually(() => expect(research.asked).toHaveLength(2));
    research.answer(done);
    await eventually(() => expect(heard).toEqual([result]));
  });

  it('is given up after two interruptions, with a word', async () => {
    const { research, voice } = await startBoth();
    const heard = listen(voice);
    await voice.say('Find out');
    await research.restart();
    await eventually(() => expect(research.asked).toHaveLength(2));
    await research.restart();
    await eventually(() =>
      expect(heard).toEqual([
        `Your research says: I had to give up on "${question}": I was interrupted twice.`,
      ]),
    );
  });

  it('that ends while the disk is full is announced after the next start', async () => {
    const { research, voice, restart } = await startBoth();
    await voice.say('Find out');
    voice.voice.database.exec('PRAGMA query_only = 1');
    research.answer(done);
    await eventually(() =>
      expect(voice.lines.map(({ message }) => message)).toContain('failed to store research result'),
    );
    await voice.stop();
    const heard = listen(await restart());
    await eventually(() => expect(heard).toEqual([result]));
    expect(research.asked).toHaveLength(1);
  });

  it('is not started a second time by the same question while it is running', async () => {
    const { research, voice } = await startBoth();
    const heard = listen(voice);
    await Promise.all([voice.say('Find out'), voice.say('Find out, I said')]);
    research.answer(done);
    await eventually(() => expect(heard).toEqual([result]));
    expect(research.asked).toHaveLength(1);
  });

  it('is refused when four are running', async () => {
    const { voice } = await startBoth();
    const { research } = voice.voice;
    const started = [1, 2, 3, 4, 5].map((number) => research.start('default', `question ${number}`));
    const outcomes = await Promise.allSettled(started);
    expect(outcomes.map(({ status }) => status)).toEqual([...Array(4).fill('fulfilled'), 'rejected']);
    await expect(started[4]).rejects.toThrow('too much research is under way');
  });

  it('takes up what an older version left undone', async () => {
    const { research, voice, restart } = await startBoth();
    voice.voice.database.exec(
      `INSERT INTO research_jobs (id, user_id, query, attempts) VALUES ('old', 'default', '${question}', 1)`,
    );
    await voice.stop();
    const heard = listen(await restart());
    await eventually(() => expect(research.asked).toEqual([question]));
    research.answer(done);
    await eventually(() => expect(heard).toEqual([result]));
  });
});

describe('deep research without a research service', () => {
  it('says what to start and which variable to set', async () => {
    const voice = await startVoice({ env: await startModel() });
    expect(await voice.say('Find out')).toBe(
      'Told: Error: Deep research needs the research service, and none is known here. Start it with "npm run research" and set RESEARCH_URL to its address, or run all services with "npm start".',
    );
  });

  it('says so when it is down, and starts nothing', async () => {
    const { research, voice } = await startBoth();
    await research.stop();
    const told = await voice.say('Find out');
    expect(told).toContain(`Told: Error: The research service at ${research.url} could not be reached.`);
    expect(told).toContain('RESEARCH_URL');
    const { count } = voice.voice.database
      .prepare<{ count: number }>('SELECT count(*) AS count FROM research_jobs')
      .get() ?? { count: -1 };
    expect(count).toBe(0);
  });

  it('shows the token of RESEARCH_AUTH_TOKEN, and names it when it is wrong', async () => {
    const research = await startResearch({ token: 'sesame' });
    const env = { ...(await startModel()), RESEARCH_URL: research.url };
    const right = await startVoice({ env: { ...env, RESEARCH_AUTH_TOKEN: 'sesame' } });
    expect(await right.say('Find out')).toContain('The research has begun.');
    const wrong = await startVoice({ env: { ...env, RESEARCH_AUTH_TOKEN: 'wrong' } });
    expect(await wrong.say('Find out')).toContain('Set RESEARCH_AUTH_TOKEN to the token');
  });
});
