import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import {
  freePort,
  natsMissing,
  startChild,
  startModelServer,
  startNatsServer,
  temporaryHome,
} from '@trunkline/testing';
import { afterEach, describe, expect, it } from 'vitest';

const launcher = join(import.meta.dirname, '../../../bin/trunkline.js');
const cleanups: (() => unknown)[] = [];
const canMount = spawnSync('unshare', ['-rm', 'true']).status === 0;

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

describe('trunkline doctor', () => {
  it('finds nothing wrong on a fresh machine and says what would make it better', async () => {
    const { code, output } = await doctor({});
    expect(output).toMatch(/^note {4}model .*LLM_GATEWAY_URL/m);
    expect(output).toMatch(/^ok {6}calls .*@roamhq\/wrtc loads/m);
    expect(output).toMatch(/^ok {6}speech recognition/m);
    expect(output).toMatch(/^ok {6}bus .*embedded/m);
    expect(output).toMatch(/^ok {6}data directory/m);
    expect(output.match(/^ok {6}port \d+ +free for/gm)).toHaveLength(4);
    expect(code).toBe(0);
  });

  it('asks the model endpoint and names the variable that is wrong', async () => {
    const server = await startModelServer({ apiKey: 'right', models: ['small', 'large'] });
    cleanups.push(() => server.stop());
    const good = await doctor({ LLM_GATEWAY_URL: server.url, LLM_API_KEY: 'right', LLM_MODEL: 'large' });
    expect(good.output).toMatch(/^ok {6}model .*large is ready/m);
    const refused = await doctor({
      LLM_GATEWAY_URL: server.url,
      LLM_API_KEY: 'wrong-key',
      LLM_MODEL: 'large',
    });
    expect(refused.output).toMatch(/^FAILED {2}model .*LLM_API_KEY/m);
    expect(refused.output).not.toContain('wrong-key');
    expect(refused.code).toBe(1);
    const absent = await doctor({ LLM_GATEWAY_URL: server.url, LLM_API_KEY: 'right', LLM_MODEL: 'huge' });
    expect(absent.output).toMatch(/^FAILED {2}model .*LLM_MODEL is "huge".*small, large/m);
  });

  it('names a port that another program holds', async () => {
    const holder = createServer((socket) => socket.end('not us\n')).listen(0, '127.0.0.1');
    await once(holder, 'listening');
    cleanups.push(() => holder.close());
    const { port } = holder.address() as { port: number };
    const { code, output } = await doctor({ AGENT_PORT: String(port) });
    expect(output).toMatch(new RegExp(`^FAILED {2}port ${port}`, 'm'));
    expect(output).toContain('set AGENT_PORT to another port');
    expect(code).toBe(1);
  });

  it('knows a service that listens on an address of its own', async () => {
    const service = createHttpServer((_, response) => response.end('{"model":{}}')).listen(0, '127.0.0.2');
    await once(service, 'listening');
    cleanups.push(() => service.close());
    const { port } = service.address() as AddressInfo;
    const { output } = await doctor({ AGENT_PORT: String(port), CORE_HOST: '127.0.0.2' });
    expect(output).toMatch(new RegExp(`^ok {6}port ${port} +a service answers there`, 'm'));
  });

  it("looks at the operator's key and at services that are open", async () => {
    const home = temporaryHome();
    cleanups.push(home.remove);
    const variables = { TRUNKLINE_HOME: home.path, TRUNKLINE_OPEN: '0' };
    expect((await doctor(variables)).output).toMatch(/^ok {6}operator's key +is created in /m);
    writeFileSync(join(home.path, 'operator-key'), 'x'.repeat(43), { mode: 0o644 });
    const { code, output } = await doctor({ ...variables, RESEARCH_HOST: '0.0.0.0' });
    expect(output).toMatch(/^FAILED {2}operator's key +other accounts .*operator-key \(mode 644\)/m);
    expect(output).toMatch(/^note {4}research is open +it listens on 0\.0\.0\.0/m);
    expect(output).toContain('Set RESEARCH_AUTH_TOKEN');
    expect(code).toBe(1);
    expect((await doctor({ TRUNKLINE_OPEN: '1' })).output).toMatch(
      /^note {4}operator's key +TRUNKLINE_OPEN=1/m,
    );
  });

  it.skipIf(!canMount)('fails when the disk has no room for the data', () => {
    const home = temporaryHome();
    cleanups.push(home.remove);
    const inSmallDisk = 'mount -t tmpfs -o size=4m tmpfs "$1" && TRUNKLINE_HOME="$1" exec "$2" "$3" doctor';
    const words = ['-rm', 'sh', '-c', inSmallDisk, 'sh', home.path, process.execPath, launcher];
    const { stdout, status } = spawnSync('unshare', words, { encoding: 'utf8' });
    expect(stdout).toMatch(/^FAILED {2}disk +4\.0 MiB free at .*\n +Free some space/m);
    expect(status).toBe(1);
  });

  it('names a data directory that cannot be written', async () => {
    const { code, output } = await doctor({ TRUNKLINE_HOME: join(launcher, 'below-a-file') });
    expect(output).toMatch(/^FAILED {2}data directory/m);
    expect(output).toContain('TRUNKLINE_HOME');
    expect(code).toBe(1);
  });

  it.skipIf(natsMissing)('enters a NATS server that answers', async () => {
    const nats = await startNatsServer();
    cleanups.push(() => nats.stop());
    expect((await doctor({ NATS_URL: nats.url })).output).toMatch(/^ok {6}bus .*JetStream is ready/m);
  });

  it('says when no NATS server answers', async () => {
    const { code, output } = await doctor({ NATS_URL: `nats://127.0.0.1:${await freePort()}` });
    expect(output).toMatch(/^FAILED {2}bus/m);
    expect(output).toContain('Check NATS_URL');
    expect(code).toBe(1);
  });
});

async function doctor(environment: Record<string, string>): Promise<{ code: number | null; output: string }> {
  const home = temporaryHome();
  cleanups.push(home.remove);
  const names = ['VOICE_PORT', 'AGENT_PORT', 'RESEARCH_PORT', 'SWITCHBOARD_PORT'];
  const ports = Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, String(await freePort())])),
  );
  const child = startChild(launcher, {
    arguments: ['doctor'],
    directory: home.path,
    environment: { ...home.environment, LLM_GATEWAY_URL: '', NATS_URL: '', ...ports, ...environment },
  });
  cleanups.push(() => child.kill());
  const { code } = await child.exited;
  return { code, output: child.output() };
}
