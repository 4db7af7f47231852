import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { waitFor } from '@trunkline/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startVoice } from '../voice.suite.ts';
import { dial, prepareCaller } from './caller.suite.ts';
import { pitch, startLines, startLinesByHand, tone } from './lines.suite.ts';

const roster = `users:
  - { id: ada, api_key: a }
  - { id: ben, api_key: b }
`;
const candidate = { candidate: '', sdp_mid: '0', sdp_mline_index: 0 };

describe('POST /api/offer', () => {
  it('answers a complete offer and connects [V086] [V098]', async () => {
    const { voice, lines } = await startLines();
    const caller = prepareCaller();
    const body = await caller.offer(voice);
    expect(body).toEqual({
      sdp: expect.stringMatching(/^v=0/),
      type: 'answer',
      pc_id: expect.stringMatching(/^SmallWebRTCConnection#0-[0-9a-f]{32}$/),
    });
    await caller.connected();
    await waitFor(() => lines.length === 1);
    expect(lines[0]?.id).toBe(body.pc_id);
  });

  it('answers with the skill that was chosen when the call connected [V069]', async () => {
    const skills: string[] = [];
    const voice = await startVoice({
      substitutes: { converse: (_line, user) => void skills.push(voice.voice.persona(user).skill.slug) },
    });
    await dial(voice);
    await waitFor(() => skills.length === 1);
    await voice.post('/api/skills', { slug: 'chef' });
    await dial(voice);
    await waitFor(() => skills.length === 2);
    expect(skills).toEqual(['default', 'chef']);
  });

  it('takes audio and video lines in any order and asks for no pictures [V097]', async () => {
    const { voice, line } = await startLines();
    const caller = await dial(voice, { video: true });
    expect(caller.answer.match(/^m=\w+/gm)).toEqual(['m=audio', 'm=video', 'm=application']);
    const [, audio = '', video = ''] = caller.answer.split(/^m=/m);
    expect(audio).toContain('a=sendrecv');
    expect(video).toContain('a=inactive');
    const { heard } = await line();
    await waitFor(() => pitch(heard) > 0);
  });

  it('lets sound flow without a video line too', async () => {
    const { voice, line } = await startLines();
    const caller = await dial(voice, { video: false });
    const { heard, speaker } = await line();
    speaker.enqueue(tone(600, 24_000, 60));
    await waitFor(() => pitch(heard) > 0 && pitch(caller.ear.frames) > 0);
  });

  it('asks for packets of 10 ms, and sends them', async () => {
    const { voice } = await startLines();
    const caller = await dial(voice);
    const [, audio = ''] = caller.answer.split(/^m=/m);
    expect(audio).toContain('a=ptime:10\r\n');
    const received = await waitFor(async () => {
      const reports: { type: string; packetsReceived?: number; jitterBufferEmittedCount?: number }[] = [];
      (await caller.connection.getStats()).forEach((report) => void reports.push(report));
      const inbound = reports.find(({ type }) => type === 'inbound-rtp');
      return (inbound?.packetsReceived ?? 0) > 100 ? inbound : undefined;
    });
    const { packetsReceived = 0, jitterBufferEmittedCount = 0 } = received;
    // At 48 kHz; a packet of 20 ms has 960 samples.
    expect(jitterBufferEmittedCount / packetsReceived).toBeLessThan(600);
  });

  it('hands on what the client sent along', async () => {
    const { voice, line } = await startLines();
    await dial(voice, { body: { request_data: { from: 'kiosk' } } });
    expect((await line()).requestData).toEqual({ from: 'kiosk' });
  });

  it('refuses an offer that cannot be used, and keeps nothing of it', async () => {
    const { voice } = await startLines({ env: { MAX_CALLS: '1' } });
    const refused = [
      { sdp: 'nonsense', type: 'offer' },
      { sdp: 'v=0\r\nm=audio nonsense\r\n', type: 'offer' },
      {
        sdp: 'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\n',
        type: 'offer',
      },
    ];
    for (const offer of refused) {
      const { status, body } = await voice.post('/api/offer', offer);
      expect(status).toBe(400);
      expect(body).toEqual({ detail: expect.stringMatching(/^The offer cannot be used: \S/) });
    }
    for (const body of [{}, { sdp: 1, type: 'offer' }, { sdp: 'v=0', type: 'answer' }, 'no json'])
      expect((await voice.post('/api/offer', body)).status).toBe(422);
    await dial(voice);
  });

  it('takes no offer with more lines than the process of all calls can bear', async () => {
    const { voice } = await startLines();
    const sdp = `v=0\r\n${'m=audio 9 UDP/TLS/RTP/SAVPF 111\r\n'.repeat(40)}`;
    const { status, body } = await voice.post('/api/offer', { sdp, type: 'offer' });
    expect([status, body.detail]).toEqual([400, expect.stringMatching(/more than 32 lines/)]);
  });

  it('takes no more candidates than that, at once or one after the other', async () => {
    const { voice, line } = await startLines();
    const places = (from: number, count: number) =>
      Array.from({ length: count }, (_, n) => `candidate:1 1 udp 2122260223 127.0.0.1 ${from + n} typ host`);
    const caller = await dial(voice);
    const { id } = caller;
    const opened = await line();
    const found = (lines: string[]) => ({
      pc_id: id,
      candidates: lines.map((line) => ({ ...candidate, candidate: line })),
    });
    const first = found(places(20_000, 150));
    for (let count = 0; count < 3; count += 1)
      expect((await voice.patch('/api/offer', first)).status).toBe(200);
    const more = await voice.patch('/api/offer', found(places(30_000, 180)));
    expect([more.status, more.body.detail]).toEqual([400, expect.stringMatching(/a connection takes 300/)]);
    expect(opened.ended).toBeUndefined();
    const crowd = places(20_000, 400).map((place) => `a=${place}\r\n`);
    const sdp = caller.connection.localDescription?.sdp.replace(/(?=a=candidate:)/, () => crowd.join(''));
    const again = await voice.post('/api/offer', { sdp, type: 'offer' });
    expect([again.status, again.body.detail]).toEqual([400, expect.stringMatching(/a connection takes 300/)]);
  });

  it('needs a key and knows only the connections of its user [V071]', async () => {
    const { voice, lines } = await startLines({ files: { 'users.yaml': roster } });
    expect((await voice.post('/api/offer', { sdp: 'v=0', type: 'offer' })).status).toBe(401);
    const ada = await dial(voice, { key: 'a' });
    await waitFor(() => lines.length === 1);
    const theft = { pc_id: ada.id, candidates: [candidate] };
    expect(await voice.patch('/api/offer', theft, 'b')).toMatchObject({
      status: 404,
      body: { detail: 'Peer connection not found' },
    });
    expect((await voice.delete(`/api/offer?pc_id=${encodeURIComponent(ada.id)}`, 'b')).status).toBe(404);
    const ben = await dial(voice, { key: 'b', body: { pc_id: ada.id } });
    expect(ben.id).not.toBe(ada.id);
    await waitFor(() => lines.length === 2);
    expect(lines.map(({ user }) => user.id)).toEqual(['ada', 'ben']);
    expect((await voice.patch('/api/offer', theft, 'a')).status).toBe(200);
  });

  it('takes no more calls than it may', async () => {
    const { voice, line } = await startLines({ env: { MAX_CALLS: '1' } });
    const first = await dial(voice);
    const opened = await line();
    await expect(dial(voice)).rejects.toThrow(/503 .*All 1 lines are in use.*MAX_CALLS/);
    first.hangUp();
    await waitFor(() => opened.ended);
    await dial(voice);
  });

  it('leaves lines to others, however many calls somebody opens', async () => {
    const { voice } = await startLines({ env: { MAX_CALLS: '4' }, files: { 'users.yaml': roster } });
    await dial(voice, { key: 'b' });
    await dial(voice, { key: 'b' });
    await expect(dial(voice, { key: 'b' })).rejects.toThrow(/503 .*You have 2 calls/);
    await dial(voice, { key: 'a' });
  });

  it('keeps the line of a caller who comes back, before those who wait', async () => {
    const { voice, lines, line } = await startLines({ env: { MAX_CALLS: '1' } });
    const ann = { body: { ticket: 'page-of-ann' } };
    const cleo = async () => (await voice.post('/api/lines', { ticket: 'page-of-cleo' })).body;
    const first = await dial(voice, ann);
    const opened = await line();
    await first.channel();
    expect(await cleo()).toMatchObject({ free: false, ahead: 0 });
    first.hangUp();
    await waitFor(() => opened.ended);
    expect(await cleo()).toMatchObject({ free: false, ahead: 1 });
    await dial(voice, ann);
    const second = await waitFor(() => lines[1]);
    // The service has not noticed that it broke.
    const third = await dial(voice, ann);
    expect(second.ended).toBe('the caller came back');
    await voice.delete(`/api/offer?pc_id=${encodeURIComponent(third.id)}`);
    expect(await cleo()).toMatchObject({ free: true });
  });

  it('forgets a client that never connects [V071] [V114]', async () => {
    const { voice, clock, lines } = await startLinesByHand();
    const caller = prepareCaller();
    await caller.connection.setLocalDescription(await caller.connection.createOffer());
    const { body } = await voice.post('/api/offer', { ...caller.connection.localDescription?.toJSON() });
    const known = { pc_id: body.pc_id, candidates: [candidate] };
    expect((await voice.patch('/api/offer', known)).status).toBe(200);
    await clock.advanceBy(30_000);
    expect(await voice.patch('/api/offer', known)).toMatchObject({
      status: 404,
      body: { detail: 'Peer connection not found' },
    });
    expect(lines).toEqual([]);
  });

  it('loads nothing for a caller who finds all lines busy', async () => {
    const { loadWrtcPeers } = await import('./wrtc-peer.ts');
    let loads = 0;
    const loadPeers = () => {
      loads += 1;
      return loadWrtcPeers();
    };
    const { voice } = await startLines({ env: { MAX_CALLS: '1' }, substitutes: { loadPeers } });
    await dial(voice);
    await expect(dial(voice)).rejects.toThrow(/503 .*All 1 lines are in use/);
    expect(loads).toBe(1);
  });

  it('says what to install where WebRTC does not load, and serves the rest', async () => {
    const { mediaErrors } = await import('./media-errors.ts');
    const loadPeers = () => Promise.reject(mediaErrors.webrtc_missing({ reason: 'no such file' }));
    const voice = await startVoice({ substitutes: { loadPeers } });
    const { status, body } = await voice.post('/api/offer', { sdp: 'v=0\r\nm=audio 9\r\n', type: 'offer' });
    expect(status).toBe(503);
    expect(body.detail).toMatch(/@roamhq\/wrtc.*no such file.*npm ci/);
    expect((await voice.get('/healthz')).status).toBe(200);
  });
});

describe('PATCH /api/offer', () => {
  it('takes candidates as they are found, and their end [V070] [V087] [V098]', async () => {
    const { voice, line } = await startLines();
    const caller = await dial(voice, { trickle: true });
    await caller.connected();
    const { heard } = await line();
    await waitFor(() => pitch(heard) > 0);
    const more = { pc_id: caller.id, candidates: [candidate, { ...candidate, sdp_mid: null }] };
    expect(await voice.patch('/api/offer', more)).toMatchObject({ status: 200, body: { status: 'success' } });
  });

  it.each(['behind', 'in'])('connects by TCP to no place that a caller names %s an offer', async (where) => {
    const { voice } = await startLines();
    let connections = 0;
    const program = createServer((socket) => {
      connections += 1;
      socket.on('error', () => undefined);
    }).listen(0, '127.0.0.1');
    const phone = createSocket('udp4').bind(0, '127.0.0.1');
    onTestFinished(() => void [program.close(), phone.close()]);
    let packets = 0;
    phone.on('message', () => (packets += 1));
    await Promise.all([once(program, 'listening'), once(phone, 'listening')]);
    const { port } = program.address() as { port: number };
    const at = (transport: string, place: number, kind: string) =>
      `candidate:1 1 ${transport} 1518280447 127.0.0.1 ${place} typ ${kind}`;
    const named = [
      at('tcp', port, 'host tcptype passive'),
      at('TCP', port, 'host tcptype so'),
      at('tcp', port, 'host'),
      at('ssltcp', port, 'host'),
      at('tcp', port, 'prflx raddr 0.0.0.0 rport 0 tcptype active generation 0 typ host tcptype active'),
      // Shows that the others were looked at.
      at('udp', phone.address().port, 'host'),
    ];
    const { connection } = prepareCaller();
    const { sdp: bare = '' } = await connection.createOffer();
    const lines = named.map((each) => `a=${each}\r\n`).join('');
    const sdp = where === 'in' ? bare.replace(/(?=a=ice-ufrag:)/, () => lines) : bare;
    const { body } = await voice.post('/api/offer', { sdp, type: 'offer' });
    const candidates = named.map((each) => ({ ...candidate, candidate: each }));
    if (where === 'behind')
      expect((await voice.patch('/api/offer', { pc_id: body.pc_id, candidates })).status).toBe(200);
    await waitFor(() => packets > 2);
    expect(connections).toBe(0);
  });

  it('refuses candidates of nobody, and those that are none [V114]', async () => {
    const { voice } = await startLines();
    const stranger = { pc_id: 'SmallWebRTCConnection#9-0', candidates: [candidate] };
    expect((await voice.patch('/api/offer', stranger)).status).toBe(404);
    const { id: pc_id } = await dial(voice);
    for (const bad of ['nonsense', 'candidate:1 1 udp x y z typ host']) {
      const { status, body } = await voice.patch('/api/offer', {
        pc_id,
        candidates: [{ ...candidate, candidate: bad }],
      });
      expect(status).toBe(400);
      expect(body.detail).toMatch(/^A candidate cannot be used: \S/);
    }
    expect((await voice.patch('/api/offer', { pc_id, candidates: 'none' })).status).toBe(422);
    expect((await voice.patch('/api/offer', { pc_id, candidates: [] })).status).toBe(200);
  });
});

describe('a connection that changes', () => {
  it('is negotiated again with the same line', async () => {
    const { voice, lines, line } = await startLines();
    const caller = await dial(voice);
    const { id, heard } = await line();
    await waitFor(() => pitch(heard) > 0);
    const again = await caller.offer(voice, { pc_id: id });
    expect(again.pc_id).toBe(id);
    heard.length = 0;
    await waitFor(() => pitch(heard) > 0);
    expect(lines.length).toBe(1);
  });

  it('finds a new way after an ICE restart', async () => {
    const { voice, lines, line } = await startLines();
    const caller = await dial(voice);
    const { id, heard } = await line();
    const before = /^a=ice-ufrag:(.*)$/m.exec(caller.answer)?.[1];
    await caller.offer(voice, { pc_id: id }, { iceRestart: true });
    const after = /^a=ice-ufrag:(.*)$/m.exec(caller.answer)?.[1];
    expect(after).not.toBe(before);
    expect(caller.answer).toContain('a=candidate:');
    heard.length = 0;
    await waitFor(() => pitch(heard) > 0);
    expect(lines.map(({ ended }) => ended)).toEqual([undefined]);
  });

  it('is made anew below the same line', async () => {
    const { voice, lines, line } = await startLines();
    const first = await dial(voice);
    const { id, heard, speaker, send } = await line();
    expect(send).toBeDefined();
    const second = await dial(voice, { tone: 800, body: { pc_id: first.id, restart_pc: true } });
    expect(second.id).toBe(id);
    await waitFor(() => Math.abs(pitch(heard) - 800) < 15);
    speaker.enqueue(tone(600, 24_000, 60));
    await waitFor(() => pitch(second.ear.frames) > 0);
    await second.tell({ label: 'rtvi-ai', type: 'client-ready' });
    await waitFor(() => lines[0]?.told.length === 1);
    first.hangUp();
    expect(lines.map(({ ended }) => ended)).toEqual([undefined]);
  });

  it('ends when its new way never comes about', async () => {
    const { voice, clock, line } = await startLinesByHand();
    const first = await dial(voice);
    const opened = await line();
    const lost = prepareCaller();
    await lost.connection.setLocalDescription(await lost.connection.createOffer());
    const sdp = lost.connection.localDescription?.sdp.replaceAll(/^a=candidate:.*\r\n/gm, '');
    const { body } = await voice.post('/api/offer', {
      sdp,
      type: 'offer',
      pc_id: first.id,
      restart_pc: true,
    });
    expect(body.pc_id).toBe(first.id);
    await clock.advanceBy(29_999);
    expect(opened.ended).toBeUndefined();
    await clock.advanceBy(1);
    expect(opened.ended).toBe('the client did not connect in time');
  });

  it('outlives a later offer that is bad', async () => {
    const { voice, line } = await startLines();
    const caller = await dial(voice);
    const { heard } = await line();
    for (const restart_pc of [false, true]) {
      const bad = { sdp: 'v=0\r\nm=audio nonsense\r\n', type: 'offer', pc_id: caller.id, restart_pc };
      expect((await voice.post('/api/offer', bad)).status).toBe(400);
    }
    heard.length = 0;
    await waitFor(() => pitch(heard) > 0);
  });
});
