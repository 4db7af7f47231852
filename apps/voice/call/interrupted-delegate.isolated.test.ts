import {
  type ModelScript,
  startModelServer,
  startSidecarServer,
  waitFor,
  withoutFence,
} from '@trunkline/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { dial } from '../media/caller.suite.ts';
import { artifact, startPeer } from '../peer.suite.ts';
import { startVoice } from '../voice.suite.ts';

type Messages = Parameters<Extract<ModelScript, (...given: never[]) => unknown>>[0]['messages'];

/** Hands every question to the scout, in other letters each time, and says what it was told. */
function answer(messages: Messages) {
  const last = messages.at(-1);
  if (last?.role === 'tool') return `The scout: ${withoutFence(last.content)}`;
  const query = messages.filter(({ role }) => role === 'user').length > 1 ? ' who  WON' : 'Who won?';
  return { toolCalls: [{ name: 'delegate_to', arguments: { target: 'scout', query } }] };
}

/** The service with a delegate that answers when the test says so. */
async function start() {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const scout = await startPeer(async () => {
    await released;
    return artifact('Blue won.');
  });
  const sidecar = await startSidecarServer({ speech: [new Uint8Array(8820).fill(7)] });
  const model = await startModelServer({ script: ({ messages }) => answer(messages) });
  onTestFinished(() => sidecar.stop());
  onTestFinished(() => model.stop());
  const delegates = `delegates: [{name: scout, description: Knows sport., type: a2a, url: "${scout.url}"}]`;
  const voice = await startVoice({
    files: { 'delegates.yaml': delegates },
    env: { SIDECAR_URL: sidecar.url, LLM_URL: model.url, LLM_MODEL: 'm', VERBOSITY: 'silent' },
  });
  return { voice, model, scout, release };
}

type Caller = Awaited<ReturnType<typeof dial>>;

const write = (caller: Caller, content: string) =>
  caller.tell({ label: 'rtvi-ai', type: 'send-text', data: { content } });

const said = (caller: Caller) =>
  caller
    .messages()
    .filter(({ type }) => type === 'bot-tts-text')
    .map(({ data }) => data.text)
    .join(' ');

const patience = { timeoutMs: 40_000 };

describe('a delegate that was asked in a call', () => {
  it('is asked once, however often the caller interrupts and repeats the question', async () => {
    const { voice, model, scout, release } = await start();
    const caller = await dial(voice, { tone: null });
    await write(caller, 'Ask the scout who won.');
    await waitFor(() => scout.requests.length === 1, patience);
    for (const [asked, question] of ['So who won?', 'Tell me who won!'].entries()) {
      await write(caller, question);
      // Its second call has been made when the page is told of it.
      await waitFor(() => calls(caller).length === asked + 2, patience);
    }
    expect(JSON.stringify(model.chats().at(-1))).toContain('Still running');
    release();
    await waitFor(() => said(caller).includes('Blue won.'), patience);
    expect(said(caller)).toContain('The scout: Blue won.');
    expect(scout.requests).toHaveLength(1);
    expect((await voice.get('/api/metrics')).body.tool_calls_by_name).toEqual({ delegate_to: 1 });
  });

  it('is not left waiting when the service stops, and the caller learns of it at the next call', async () => {
    const { voice, scout } = await start();
    const caller = await dial(voice, { tone: null });
    await write(caller, 'Ask the scout who won.');
    await waitFor(() => scout.requests.length === 1, patience);
    await voice.stop();
    const again = await startVoice({ home: voice.home });
    const told: string[] = [];
    again.voice.sessions.open({ id: '1', userId: 'default', offer: ({ words }) => void told.push(words) });
    expect(told).toEqual([
      'scout says: Sorry, that did not work: the service was restarted before the answer came; please ask again.',
    ]);
  });
});

function calls(caller: Caller) {
  return caller.messages().filter(({ type }) => type === 'llm-function-call-started');
}
