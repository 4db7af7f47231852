import { describe, expect, it, vi } from 'vitest';
import { startWith } from '../delegates/delegates.suite.ts';
import { artifact, type PeerRequest } from '../peer.suite.ts';
import { json, startVoice, type TestVoice } from '../voice.suite.ts';

describe('a delegate that answers late', () => {
  const lateLine = ([request]: readonly PeerRequest[]): { url: string; token: string } =>
    request?.body.params.configuration.pushNotificationConfig;

  it('is given a way back, and what it brings is told in its name', async () => {
    const spoken: string[] = [];
    const { peer, voice } = await startWith('type: a2a', () => 'stall', {
      PUBLIC_URL: 'http://voice.example/',
      A2A_AUTH_TOKEN: 'shared',
    });
    const user = voice.voice.users.find('default');
    const tool = user && voice.voice.persona(user).tools.find(({ name }) => name === 'delegate_to');
    const controller = new AbortController();
    const asking = tool?.execute?.(
      { target: 'scout', query: 'q' },
      { signal: controller.signal, sessionId: 's', toolCallId: 'c' },
    );
    await vi.waitFor(() => expect(peer.requests).toHaveLength(1));
    const { url, token } = lateLine(peer.requests);
    expect(url).toBe('http://voice.example/a2a/callback');
    controller.abort();
    await expect(asking).rejects.toThrow();
    voice.voice.sessions.open({ id: '1', userId: 'default', offer: ({ words }) => spoken.push(words) });
    const push = () =>
      voice.ask('/a2a/callback', {
        method: 'POST',
        body: '{"text":"Blue won."}',
        headers: { 'x-a2a-notification-token': token },
      });
    expect((await push()).body).toEqual({ ok: true, delivered: true });
    expect((await push()).body).toEqual({ ok: true, delivered: false, reason: 'already answered' });
    expect(spoken).toEqual(['scout says: Blue won.']);
  });

  it('may come while a restart cuts the line, before it or after', async () => {
    const first = await startVoice();
    const { tokens } = first.voice;
    const [pushed, silent] = [tokens.issue('default', 'scout'), tokens.issue('default', 'sage')];
    const push = (voice: TestVoice, token: string, text: string) =>
      voice.ask('/a2a/callback', { ...json({ text }), headers: { 'x-api-key': token } });
    await push(first, pushed, 'Early.');
    await first.stop();
    const second = await startVoice({ home: first.home });
    const spoken: string[] = [];
    second.voice.sessions.open({ id: '1', userId: 'default', offer: ({ words }) => spoken.push(words) });
    expect((await push(second, silent, 'Late.')).body).toEqual({ ok: true, delivered: true });
    expect(spoken).toEqual(['scout says: Early.', 'sage says: Late.']);
  });

  it('is not heard twice when it also answers on the line', async () => {
    const { peer, voice } = await startWith('type: a2a', () => artifact('Blue won.'), {
      PUBLIC_URL: 'http://voice.example',
    });
    expect(await voice.say('Ask')).toBe('Heard: Blue won.');
    const { token } = lateLine(peer.requests);
    const push = await voice.ask('/a2a/callback', {
      method: 'POST',
      body: '{"text":"Blue won."}',
      headers: { authorization: `Bearer ${token}` },
    });
    expect(push.body).toEqual({ ok: true, delivered: false, reason: 'already answered' });
  });
});
