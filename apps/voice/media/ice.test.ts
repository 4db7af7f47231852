import { readOptions } from '@trunkline/config';
import { describe, expect, it } from 'vitest';
import { voiceOptions } from '../options.ts';
import { startVoice } from '../voice.suite.ts';

const read = (env: Record<string, string>) => readOptions(voiceOptions, { env });

describe('ICE_SERVERS', () => {
  it('is handed to clients with a key', async () => {
    const servers = [
      { urls: 'stun:stun.example:3478' },
      {
        urls: ['turn:relay.example:3478?transport=udp', 'turns:relay.example:5349'],
        username: 'u',
        credential: 'p',
      },
    ];
    const files = { 'users.yaml': 'users: [{ id: ada, api_key: a }]' };
    const voice = await startVoice({ env: { ICE_SERVERS: JSON.stringify(servers) }, files });
    expect(await voice.get('/api/ice', 'a')).toMatchObject({ status: 200, body: { iceServers: servers } });
    expect((await voice.get('/api/ice', 'a')).headers.get('cache-control')).toBe('no-store');
    expect((await voice.get('/api/ice')).status).toBe(401);
  });

  it('is an empty list where it is not set', async () => {
    const voice = await startVoice();
    expect((await voice.get('/api/ice')).body).toEqual({ iceServers: [] });
  });

  it.each([
    'no json',
    '{"urls":"stun:a"}',
    '[{}]',
    '[{"urls":"http://a"}]',
    '[{"urls":[]}]',
    '[{"urls":"turn:a:3478"}]',
    '[{"urls":"stun:a","user":"u"}]',
  ])('is refused at the start when it is %s', (value) => {
    expect(() => read({ ICE_SERVERS: value })).toThrow(/ICE_SERVERS/);
  });

  it('shows no password when it is refused', () => {
    const value = '[{"urls":"turn:a","username":"u","credential":"hush","hush":1}]';
    expect(() => read({ ICE_SERVERS: value })).toThrow(/^(?!.*hush)/s);
  });
});

describe('ICE_PORT_RANGE', () => {
  it.each(['40000', '5-1', '0-5', '1-70000', 'a-b', '-'])('is refused when it is %s', (value) => {
    expect(() => read({ ICE_PORT_RANGE: value })).toThrow(/ICE_PORT_RANGE.*40000-40100/s);
  });

  it('is a range', () => {
    expect(read({ ICE_PORT_RANGE: '40000-40100' }).icePortRange).toBe('40000-40100');
  });
});
