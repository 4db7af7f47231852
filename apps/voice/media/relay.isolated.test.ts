import { execFileSync, spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { freePort, temporaryDirectory, waitFor } from '@trunkline/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { dial } from './caller.suite.ts';
import { diagnoseIceServers } from './ice-servers.ts';
import { pitch, startLines, tone } from './lines.suite.ts';

const relay = findRelay();
const describeWithRelay = relay === undefined ? describe.skip : describe;
const title = relay === undefined ? 'a relay (no turnserver: install coturn)' : 'a relay';

describeWithRelay(title, () => {
  it.each(['udp', 'tcp'])(
    'carries a call of a client that can reach nothing else, over %s [V100]',
    async (transport) => {
      const server = await startRelay(transport);
      expect(await diagnoseIceServers([server])).toMatchObject([
        { state: 'ok', words: expect.stringMatching(/^turn:127\.0\.0\.1:\d+ answers\./) },
      ]);
      const { voice, line } = await startLines({ env: { ICE_SERVERS: JSON.stringify([server]) } });
      const { iceServers } = (await voice.get('/api/ice')).body as unknown as { iceServers: RTCIceServer[] };
      const caller = await dial(voice, { configuration: { iceServers, iceTransportPolicy: 'relay' } });
      const { heard, speaker } = await line();
      speaker.enqueue(tone(600, 24_000, 60));
      await waitFor(() => pitch(heard) > 0 && pitch(caller.ear.frames) > 0);
      expect(await candidateTypes(caller.connection)).toContain('relay');
    },
  );

  it('is offered by the service itself', async () => {
    const server = await startRelay('udp');
    const { voice } = await startLines({ env: { ICE_SERVERS: JSON.stringify([server]) } });
    const caller = await dial(voice, { trickle: true });
    expect(caller.answer).toMatch(/^a=candidate:.* typ relay/m);
  });
});

describe('a direct way', () => {
  it('is found without any server, and past a TURN server that never answers [V100]', async () => {
    const socket = createSocket('udp4').bind(0, '127.0.0.1');
    onTestFinished(() => void socket.close());
    await once(socket, 'listening');
    const urls = `turn:127.0.0.1:${socket.address().port}`;
    const dead = [{ urls, username: 'u', credential: 'p' }];
    for (const env of [{}, { ICE_SERVERS: JSON.stringify(dead) }]) {
      const { voice, line } = await startLines({ env });
      const caller = await dial(voice, { trickle: true });
      const { heard } = await line();
      await waitFor(() => pitch(heard) > 0);
      expect(await candidateTypes(caller.connection)).not.toContain('relay');
    }
  });
});

/** How the pair that carries the call was found, on the client's side. */
async function candidateTypes(connection: RTCPeerConnection): Promise<string[]> {
  const report = await connection.getStats();
  const entries: {
    id: string;
    type: string;
    nominated?: boolean;
    localCandidateId?: string;
    candidateType?: string;
  }[] = [];
  report.forEach((entry) => void entries.push(entry));
  const locals = entries.flatMap((entry) =>
    entry.type === 'candidate-pair' && entry.nominated ? (entry.localCandidateId ?? []) : [],
  );
  return entries.flatMap(({ id, candidateType }) => (locals.includes(id) ? (candidateType ?? []) : []));
}

async function startRelay(transport: string) {
  const port = await freePort();
  const { path, remove } = temporaryDirectory();
  onTestFinished(remove);
  const flags = [
    '--listening-ip=127.0.0.1',
    '--relay-ip=127.0.0.1',
    '--allow-loopback-peers',
    '--no-cli',
    '--no-tls',
  ];
  const settings = [`--listening-port=${port}`, '--lt-cred-mech', '--user=caller:sesame', '--realm=test'];
  const files = ['--log-file=stdout', '--no-dtls', `--pidfile=${path}/pid`, `--userdb=${path}/users`];
  const child = spawn(relay ?? '', ['-n', '-v', ...flags, ...settings, ...files], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(async () => {
    child.kill();
    if (child.exitCode === null) await once(child, 'exit');
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text) => {
      output += text;
    });
  // It listens to TCP first and says so; UDP follows.
  await waitFor(() => output.includes('UDP listener opened') && output.includes('TCP listener opened'));
  return { urls: `turn:127.0.0.1:${port}?transport=${transport}`, username: 'caller', credential: 'sesame' };
}

function findRelay(): string | undefined {
  try {
    return execFileSync('which', ['turnserver'], { encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
}
