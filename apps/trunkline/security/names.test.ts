import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { concrete, keyOf, type Locked, type Name, names, rawGet, startLocked } from './security.suite.ts';

const canary = 'canary-that-nobody-may-read';
/** Stand where a name with too many dots would lead. */
const canaries = [
  'escaped',
  'escaped.yaml',
  'escaped.json',
  'escaped.md',
  'escaped/SKILL.md',
  'escaped/index.html',
];

let locked: Locked;
let before: string[];
beforeAll(async () => {
  locked = await startLocked();
  for (const depth of ['', 'deep', 'deep/down']) plant(join(locked.outside, depth));
  before = outsideFiles();
});
afterAll(() => locked.stop());

function plant(directory: string): void {
  for (const file of canaries) {
    if (file === 'escaped') continue;
    mkdirSync(join(directory, file, '..'), { recursive: true });
    writeFileSync(join(directory, file), canary);
  }
}

/** Every file under the outermost directory that is not of the home. */
function outsideFiles(): string[] {
  return readdirSync(locked.outside, { recursive: true, withFileTypes: true })
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => relative(locked.home, path).startsWith('..'))
    .map((path) => relative(locked.outside, path))
    .sort();
}

function expectNoEscape(): void {
  expect(outsideFiles()).toEqual(before);
  for (const file of before.filter((path) => /escaped.*\./.test(path)))
    expect({ file, text: read(file) }).toEqual({ file, text: canary });
}

function read(file: string): string {
  return readFileSync(join(locked.outside, file), 'utf8');
}

const up = '../'.repeat(6);
const hostile = (): Record<string, string> => ({
  'steps up': `${'../'.repeat(4)}escaped`,
  'many steps up': `${up}escaped`,
  'an absolute path': join(locked.outside, 'escaped'),
  'steps up in the other slash': `${'..\\'.repeat(4)}escaped`,
  'steps up, encoded twice': `${'%2e%2e%2f'.repeat(4)}escaped`,
  'a NUL': 'escaped\u0000.yaml',
  'line breaks': 'escaped\r\nx: y',
  'nothing but dots': '..',
  'a name longer than a file name may be': 'x'.repeat(5000),
  'the prototype': '__proto__',
});

async function send(name: Name, method: string, path: string, body: unknown) {
  const response = await fetch(locked.target(name).url + path, {
    method,
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', ...keyOf(name, path) },
    signal: AbortSignal.timeout(60_000),
    ...(body !== undefined && method !== 'GET' && method !== 'DELETE' && { body: JSON.stringify(body) }),
  });
  const stream = response.headers.get('content-type')?.includes('event-stream') === true;
  if (stream) await response.body?.cancel();
  return { status: response.status, text: stream ? '' : await response.text() };
}

/** Bodies that are right, so that nothing but the name is in the way. */
const bodies: Record<string, object> = {
  'PUT /api/agents/:name': { role: 'general', systemPrompt: 'x' },
  'PUT /api/external-agents/:name': { url: 'https://agents.example/a2a', skills: [{ name: 'x' }] },
  'PUT /api/mcp-servers/:name': { trust: 'community', transport: 'sse', url: 'https://mcp.example/' },
  'PUT /api/schedules/:id': { schedule: '0 9 * * *', topic: 'cron.x', payload: {} },
  'PUT /api/workspace/files/:kind/:name': { text: 'name: x\nrole: general\nsystemPrompt: x\n' },
  'PUT /api/skills/:slug': { name: 'x', body: 'x' },
  'POST /api/chat/sessions/:id/messages': { text: 'hello' },
};

describe.each(names)('%s', (name) => {
  it('neither reads, writes nor removes anything elsewhere, whatever a path is called', async () => {
    const wrong: string[] = [];
    const routes = locked
      .target(name)
      .routes()
      .filter(({ path }) => path.includes('/:'));
    for (const [kind, value] of Object.entries(hostile())) {
      const answers = routes.map(async ({ method, path }) => {
        const route = `${method} ${path}`;
        const at = concrete(path.replace(':kind', 'agent'), encodeURIComponent(value));
        const { status, text } = await send(name, method, at, bodies[route] ?? {});
        if (status >= 500 || text.includes(canary))
          wrong.push(`${route} with ${kind}: ${status} ${text.slice(0, 200)}`);
        const isWritten = method === 'PUT' && status < 400;
        if (isWritten) wrong.push(`${route} took ${kind}`);
      });
      await Promise.all(answers);
    }
    expect(wrong).toEqual([]);
    expectNoEscape();
  });

  it('serves pages and what belongs to them, and nothing around them', async () => {
    const { url } = locked.target(name);
    const prefixes = ['', '/app', '/assets', '/static', '/share', '/docs'];
    const paths = [
      '/../package.json',
      '/%2e%2e/package.json',
      '/..%2fpackage.json',
      '/%2e%2e%2fpackage.json',
      '/..%5cpackage.json',
      '/%252e%252e%252fpackage.json',
      '/....//package.json',
      '//etc/passwd',
      '/%2fetc%2fpasswd',
      '/.env',
      '/.git/config',
      '/index.html%00.js',
      `/${'x'.repeat(6000)}`,
      '/%',
      '/%c0%ae%c0%ae/package.json',
    ];
    for (const path of prefixes.flatMap((prefix) => paths.map((each) => prefix + each))) {
      const { status, text } = await rawGet(url, path, { accept: 'text/html' });
      expect({ path, failed: status >= 500, leaked: /root:|"version":|\[core\]/.test(text) }).toEqual({
        path,
        failed: false,
        leaked: false,
      });
    }
  });
});

/** Names that stand in a body. Harmless are those that name no file, or are answered in the body with status 200. */
const named: [string, Name, string, (value: string) => object, 'refused' | 'harmless'][] = [
  [
    'an agent',
    'switchboard',
    '/api/agents',
    (name) => ({ name, role: 'general', systemPrompt: 'x' }),
    'refused',
  ],
  [
    'an MCP server',
    'switchboard',
    '/api/mcp-servers',
    (name) => ({ name, trust: 'community', transport: 'sse', url: 'https://mcp.example/' }),
    'refused',
  ],
  [
    'an external agent',
    'switchboard',
    '/api/external-agents',
    (name) => ({ name, url: 'https://a.example/a2a' }),
    'refused',
  ],
  [
    'a schedule',
    'switchboard',
    '/api/schedules',
    (id) => ({ id, schedule: '0 9 * * *', topic: 'cron.x', payload: {} }),
    'refused',
  ],
  ['a project', 'switchboard', '/api/onboard', (slug) => ({ slug, title: 'x', github: 'a/b' }), 'refused'],
  ['a repository', 'switchboard', '/api/onboard', (github) => ({ slug: 'x', title: 'x', github }), 'refused'],
  [
    'a file in a command',
    'switchboard',
    '/publish',
    (file) => ({
      topic: 'command.agent.upsert',
      payload: { name: file, file, yaml: 'role: general\nsystemPrompt: x' },
    }),
    'harmless',
  ],
  [
    'a schedule in a command',
    'switchboard',
    '/publish',
    (id) => ({
      topic: 'command.schedule',
      payload: { action: 'add', id, schedule: '0 9 * * *', topic: 'cron.x' },
    }),
    'harmless',
  ],
  [
    'a job',
    'agent',
    '/api/scheduler/jobs',
    (job_id) => ({ job_id, when: '2099-01-01T00:00:00Z', prompt: 'x' }),
    'harmless',
  ],
  ['a session', 'agent', '/api/chat', (session_id) => ({ session_id, message: 'what is 2+2' }), 'harmless'],
  ['a context', 'agent', '/message:send', message, 'harmless'],
  ['a context', 'voice', '/message:send', message, 'harmless'],
  ['a skill', 'voice', '/api/skills', (slug) => ({ slug }), 'harmless'],
  ['a user', 'voice', '/api/admin/skills', (user_id) => ({ user_id, slug: 'chef' }), 'harmless'],
];

function message(contextId: string): object {
  return { message: { messageId: '1', contextId, role: 'ROLE_USER', parts: [{ text: 'what is 2+2' }] } };
}

it.each(named)('takes no path as the name of %s (%s %s)', async (_, service, path, body, wanted) => {
  for (const [kind, value] of Object.entries(hostile())) {
    const { status, text } = await send(service, 'POST', path, body(value));
    expect({ kind, text, failed: status >= 500 }).toEqual({ kind, text, failed: false });
    expect(text).not.toContain(canary);
    if (wanted === 'refused' && kind !== 'the prototype')
      expect({ kind, refused: status >= 400 }).toEqual({ kind, refused: true });
  }
  expectNoEscape();
});

it('keeps of the name of an upload its last part alone', async () => {
  const { url } = locked.target('research');
  for (const value of [`${up}escaped.md`, '..\\..\\escaped.md', join(locked.outside, 'escaped.md')]) {
    const form = new FormData();
    form.append('file', new File([`of ${value}`], value));
    const response = await fetch(`${url}/api/files`, {
      method: 'POST',
      headers: keyOf('research', '/'),
      body: form,
    });
    expect(response.status).toBe(201);
    const { files } = (await response.json()) as { files: { name: string }[] };
    expect(files.map(({ name }) => name)).toEqual(['escaped.md']);
  }
  expectNoEscape();
});

it('takes no path as the slug of a cloned voice', async () => {
  const { url } = locked.target('voice');
  for (const [kind, slug] of Object.entries(hostile())) {
    const form = new FormData();
    form.append('audio', new File(['x'], `${up}escaped.wav`));
    form.append('slug', slug);
    const headers = keyOf('voice', '/api/voice/clone');
    const response = await fetch(`${url}/api/voice/clone`, { method: 'POST', headers, body: form });
    const { error } = (await response.json()) as { error?: string };
    expect({ kind, refused: typeof error }).toEqual({ kind, refused: 'string' });
  }
  expectNoEscape();
});
