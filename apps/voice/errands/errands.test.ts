import { type ModelServer, startModelServer } from '@trunkline/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { startVoice, type TestVoice } from '../voice.suite.ts';

/** Talks as the assistant, and works as the researcher; the two are told apart by their instructions. */
async function startResearching(research: (index: number) => Parameters<ModelServer['enqueue']>[0]) {
  let researched = 0;
  const server = await startModelServer({
    script: ({ messages }) => {
      if (String(messages[0]?.content).startsWith('You research')) {
        researched += 1;
        return research(researched);
      }
      if (messages.at(-1)?.role === 'tool') return `Told: ${String(messages.at(-1)?.content)}`;
      return { toolCalls: [{ name: 'deep_research', arguments: { query: 'Why is the sky blue?' } }] };
    },
  });
  onTestFinished(() => server.stop());
  return server;
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

const env = (model: ModelServer) => ({ LLM_URL: model.url, LLM_MODEL: 'm' });

describe('research that takes long', () => {
  it('returns at once, and the answer is told when it is there', async () => {
    const model = await startResearching(() => ({ fault: 'stall', answer: 'Because of scattering.' }));
    const voice = await startVoice({ env: env(model) });
    const heard = listen(voice);
    expect(await voice.say('Find out')).toContain('Told: The research has begun.');
    expect(heard).toEqual([]);
    await vi.waitFor(() => expect(model.chats().length).toBeGreaterThanOrEqual(3));
    model.release();
    await vi.waitFor(() => expect(heard).toEqual(['Your research says: Because of scattering.']));
    expect((await voice.get('/api/metrics')).body.tool_calls_by_name).toEqual({ deep_research: 1 });
  });

  it('waits for the user when nobody is connected', async () => {
    const model = await startResearching(() => 'Because of scattering.');
    const voice = await startVoice({ env: env(model) });
    await voice.say('Find out');
    await vi.waitFor(() => expect(listen(voice)).toEqual(['Your research says: Because of scattering.']));
  });

  it('tells a failure in words', async () => {
    const model = await startResearching(() => ({ fault: 'status', status: 401 }));
    const voice = await startVoice({ env: env(model) });
    const heard = listen(voice);
    await voice.say('Find out');
    await vi.waitFor(() => expect(heard[0]).toContain('I could not finish "Why is the sky blue?"'));
  });

  it('is taken up again after a restart', async () => {
    const model = await startResearching((index) =>
      index === 1 ? { fault: 'stall' } : 'Because of scattering.',
    );
    const first = await startVoice({ env: env(model) });
    await first.say('Find out');
    await vi.waitFor(() => expect(model.chats().length).toBeGreaterThanOrEqual(3));
    await first.stop();
    const second = await startVoice({ home: first.home, env: env(model) });
    const heard = listen(second);
    await vi.waitFor(() => expect(heard).toEqual(['Your research says: Because of scattering.']));
  });

  it('is given up after two interruptions, with a word', async () => {
    const model = await startResearching(() => ({ fault: 'stall' }));
    let voice = await startVoice({ env: env(model) });
    await voice.say('Find out');
    for (let restart = 0; restart < 2; restart += 1) {
      await voice.stop();
      voice = await startVoice({ home: voice.home, env: env(model) });
    }
    expect(listen(voice)).toEqual([
      'Your research says: I had to give up on "Why is the sky blue?": I was interrupted twice.',
    ]);
  });

  it('that ends while the disk is full is done anew after the next start', async () => {
    const model = await startResearching((index) =>
      index === 1 ? { fault: 'stall', answer: 'Lost.' } : 'Because of scattering.',
    );
    const first = await startVoice({ env: env(model) });
    await first.say('Find out');
    await vi.waitFor(() => expect(model.chats().length).toBeGreaterThanOrEqual(3));
    first.voice.database.exec('PRAGMA query_only = 1');
    model.release();
    await vi.waitFor(() =>
      expect(first.lines.map(({ message }) => message)).toContain('what came of an errand was not kept'),
    );
    await first.stop();
    const second = await startVoice({ home: first.home, env: env(model) });
    const heard = listen(second);
    await vi.waitFor(() => expect(heard).toEqual(['Your research says: Because of scattering.']));
  });

  it('is not begun a second time by the same question while it is under way', async () => {
    const model = await startResearching(() => ({ fault: 'stall', answer: 'Because of scattering.' }));
    const voice = await startVoice({ env: env(model) });
    const heard = listen(voice);
    await voice.say('Find out');
    await voice.say('Find out, I said');
    await vi.waitFor(() => expect(model.chats().length).toBeGreaterThanOrEqual(5));
    model.release();
    await vi.waitFor(() => expect(heard).toEqual(['Your research says: Because of scattering.']));
    const researched = model
      .chats()
      .filter(({ messages }) => String(messages[0]?.content).startsWith('You research'));
    expect(researched).toHaveLength(1);
  });

  it('is refused when four are under way', async () => {
    const model = await startResearching(() => ({ fault: 'stall' }));
    const { voice } = await startVoice({ env: env(model) });
    const begun = [1, 2, 3, 4, 5].map((number) => voice.errands.begin('default', `question ${number}`));
    expect(begun).toEqual([true, true, true, true, false]);
  });
});
