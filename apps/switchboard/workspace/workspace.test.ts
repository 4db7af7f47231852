import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSse } from '@trunkline/http';
import { waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { observe } from '../fixtures/observe.ts';
import { startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';

const agent = (name: string, more = '') => `name: ${name}\nrole: general\nsystemPrompt: Be brief.\n${more}`;
const state = async (board: TestSwitchboard) => (await board.call('/api/workspace')).body.data;
const names = (entries: { name: string }[]) => entries.map(({ name }) => name).sort();

describe('a first run', () => {
  it('seeds a workspace that works and has no problems [S068]', async () => {
    const board = await startSwitchboard();
    const { problems, agents, fleet } = await state(board);
    expect(problems).toEqual([]);
    expect(names(agents)).toEqual(['helm', 'warden']);
    expect(fleet.roles).toEqual({ helm: 'helm', reviewer: 'reviewer' });
    await board.stop();
  });

  it('leaves a workspace that is not empty alone, wherever it is [S068]', async () => {
    const outer = await startSwitchboard({ files: { 'fleet.yaml': 'roles: { helm: ava }' } });
    const inner = await startSwitchboard({ env: { WORKSPACE_DIR: outer.workspace } });
    expect((await state(inner)).fleet.roles.helm).toBe('ava');
    expect(existsSync(join(outer.workspace, 'agents'))).toBe(false);
    await inner.stop();
    await outer.stop();
  });
});

describe('files of the workspace', () => {
  let board: TestSwitchboard;
  beforeAll(async () => {
    board = await startSwitchboard({
      env: { PEER_KEY: 'secret-of-peer' },
      files: {
        'agents/ava.yaml': agent(
          'ava',
          'maxTurns: -1\nchatBotTokenEnvKey: AVA_BOT\nskills: [{ name: chat, keywords: [hello] }]',
        ),
        'agents/old.yaml.example': 'not: [valid',
        'agents.yaml':
          'agents:\n  - { name: peer, url: "http://127.0.0.1:1/a2a", apiKeyEnv: PEER_KEY, skills: [look, { name: find }], team: dev, subscribesTo: [x.y], chain: { look: ava } }\n  - { name: twin, url: "http://127.0.0.1:1/a2a", streaming: true }',
        'agents.d/twin.yaml': 'name: twin\nurl: http://127.0.0.1:2/a2a\n',
        'channels.yaml': 'channels: [{ id: a, platform: chat, channelId: "1", agent: ava }]',
        'routes.d/go.yaml': 'name: go\nwhen: { topic: deploy.# }\nthen: { skill: chat }',
        'mcp-servers.d/files.yaml': 'name: files\ntrust: trusted\ntransport: stdio\ncommand: node\n',
        'incidents.yaml':
          'incidents: [{ id: INC-001, title: Down, severity: high, status: open, reportedAt: "2026-01-01T00:00:00Z" }]',
        'a2a.yaml': `targets: { ava: { url: "http://127.0.0.1:1/a2a", api_key: "\${PEER_KEY}" } }`,
        'ceremonies/standup.yaml':
          'id: standup\nname: Stand-up\nschedule: 0 9 * * 1-5\nskill: chat\ntargets: [ava]',
        'chat.yaml':
          'channels: { digest: "1" }\nmoderation: { rateLimit: { maxMessages: 5, windowSeconds: 10 }, spamPatterns: ["free (money|gold)"] }\ncommands: [{ name: ask, description: Ask, subcommands: [{ name: ava, description: Ava, content: hello, options: [{ name: what, description: What, type: string, required: true }] }] }]',
        'codehost.yaml': 'mentionHandle: "@Trunk"\nskillHints: { issues: bug_triage }',
        'cloud.yaml':
          'drive: { orgFolderId: f1 }\ncalendar: { orgCalendarId: c1, pollIntervalMinutes: 2 }\ngmail: { watchLabels: [in], pollIntervalMinutes: 3, routingRules: [{ label: in, skillHint: chat }] }',
        'ceremonies/old.yaml.example': 'not: [valid',
      },
    });
  });
  afterAll(() => board.stop());

  it('are all read, examples left out [S043] [S025] [S026] [S032] [S033] [S034] [S036] [S037] [S039]', async () => {
    const { problems, agents, externalAgents, ...rest } = await state(board);
    expect(problems).toEqual([]);
    expect(agents).toMatchObject([
      {
        name: 'ava',
        role: 'general',
        maxTurns: -1,
        tools: [],
        canDelegate: [],
        chatBotTokenEnvKey: 'AVA_BOT',
      },
    ]);
    expect(externalAgents).toMatchObject([
      {
        name: 'peer',
        team: 'dev',
        subscribesTo: ['x.y'],
        skills: [{ name: 'look' }, { name: 'find' }],
        chain: { look: 'ava' },
      },
      { name: 'twin', url: 'http://127.0.0.1:2/a2a' },
    ]);
    expect(rest).toMatchObject({
      channels: [{ id: 'a' }],
      routes: [{ name: 'go', enabled: true }],
      targets: ['ava'],
      ceremonies: [{ id: 'standup', targets: ['ava'], notifyChannel: '', enabled: true }],
      chat: {
        channels: { digest: '1', welcome: '', modLog: '' },
        moderation: { rateLimit: { maxMessages: 5 }, spamPatterns: ['free (money|gold)'] },
        commands: [{ name: 'ask', subcommands: [{ options: [{ required: true, autocomplete: false }] }] }],
      },
      codehost: { mentionHandle: '@Trunk', skillHints: { issues: 'bug_triage' } },
      cloud: { drive: { orgFolderId: 'f1' }, gmail: { routingRules: [{ label: 'in' }] } },
    });
    expect(JSON.stringify(await state(board))).not.toContain('secret-of-peer');
  });

  it('are followed: what is added, changed and removed is live [S152]', async () => {
    board.write('agents/bea.yaml', agent('bea'));
    board.write('fleet.yaml', 'roles: { helm: bea }');
    board.write('agents.d/third.yaml', 'name: third\nurl: http://127.0.0.1:3/a2a\n');
    await waitFor(async () => {
      const { agents, fleet, externalAgents } = await state(board);
      expect([names(agents), fleet.roles.helm, externalAgents.length]).toEqual([['ava', 'bea'], 'bea', 3]);
      return true;
    });
    rmSync(join(board.workspace, 'agents/bea.yaml'));
    await waitFor(async () => (await state(board)).agents.length === 1);
    rmSync(join(board.workspace, 'cloud.yaml'));
    board.write('chat.yaml', 'channels: { welcome: "9" }');
    board.write('ceremonies/retro.yaml', 'id: retro\nname: Retro\nschedule: "@weekly"\nskill: chat');
    await waitFor(async () => {
      const { cloud, chat, ceremonies } = await state(board);
      return cloud === null && chat.channels.welcome === '9' && ceremonies.length === 2;
    });
  });

  it('tell the bus of every change [S142]', async () => {
    const seen = await observe(board);
    board.write('codehost.yaml', 'mentionHandle: trunk');
    const { payload } = await seen.first('config.updated');
    expect(payload.file).toBe(join(board.workspace, 'codehost.yaml'));
    expect((await state(board)).codehost.mentionHandle).toBe('trunk');
    seen.close();
  });

  it('stand alone: one bad file of a folder fails no other', async () => {
    board.write('agents.d/bad.yaml', 'name: bad\nurl: nowhere\n');
    board.write('agents.d/good.yaml', 'name: good\nurl: http://127.0.0.1:4/a2a\n');
    await waitFor(async () => names((await state(board)).externalAgents).includes('good'));
    const bad = async () =>
      (await state(board)).problems.find(({ file }: { file: string }) => file.endsWith('agents.d/bad.yaml'));
    expect((await waitFor(bad)).error).toContain('agents.d/bad.yaml:2:');
    rmSync(join(board.workspace, 'agents.d/bad.yaml'));
    await waitFor(async () => (await bad()) === undefined);
  });

  const broken = [
    ['agents/ava.yaml', agent('ava', 'tools: [rm_all]'), 'agents/ava.yaml:4:'],
    ['agents/cleo.yaml', agent('dora'), 'call the file dora.yaml'],
    ['agents/finn.yaml', agent('finn', 'canDelegate: [ava]'), 'only an orchestrator may delegate'],
    ['agents/nell.yaml', agent('../evil'), 'agents/nell.yaml:1:'],
    ['channels.yaml', 'channels: [{ id: a, platform: fax, channelId: "1" }]', 'channels.yaml:1:'],
    ['fleet.yaml', 'roles: { helmsman: x }', 'unknown key "helmsman"'],
    [
      'routes.d/greet.yaml',
      'name: greet\nwhen: { topic: cluster.# }\nthen: { skill: chat }',
      'routes.d/greet.yaml:2:',
    ],
    ['routes.d/all.yaml', 'name: all\nwhen: { topic: "#" }\nthen: { skill: chat }', 'routes.d/all.yaml:2:'],
    [
      'routes.d/loop.yaml',
      'name: loop\nwhen: { topic: agent.skill.request }\nthen: { skill: chat }',
      'narrower topic',
    ],
    ['mcp-servers.d/web.yaml', 'name: web\ntrust: trusted\ntransport: sse\n', 'url'],
    ['incidents.yaml', 'incidents: [{ id: 7 }]', 'incidents.yaml:1:'],
    ['agents.yaml', 'agents: [{ name: peer }]', 'agents.yaml:1:'],
    ['a2a.yaml', 'targets: { ava: { url: nonsense } }', 'a2a.yaml:1:'],
    [
      'ceremonies/c.yaml',
      'id: c\nname: C\nschedule: 2026-01-01T10:00:00Z\nskill: chat',
      'ceremonies/c.yaml:3:',
    ],
    ['chat.yaml', 'moderation: { spamPatterns: ["("] }', 'chat.yaml:1:'],
    ['codehost.yaml', 'skillHints: { push: x }', 'unknown key "push"'],
    ['cloud.yaml', 'calendar: { pollIntervalMinutes: 0 }', 'cloud.yaml:1:'],
    ['channels.yaml', 'channels: [{ id: a, platform: chat, channelId: "1", kind: dev }]', 'go together'],
  ] as const;

  it.each(broken)(
    'tells what is wrong with %s, and keeps the last good version',
    async (file, text, words) => {
      const before = await state(board);
      const controller = new AbortController();
      const feed = await board.fetch('/api/bus/stream?topic=system.error', { signal: controller.signal });
      board.write(file, text);
      for await (const { data } of readSse(feed.body!)) {
        const { payload } = JSON.parse(data);
        expect(payload).toMatchObject({ source: 'workspace', plugin: 'workspace' });
        expect(payload.error).toContain(words);
        break;
      }
      controller.abort();
      const after = await state(board);
      expect(after.problems.some(({ error }: { error: string }) => error.includes(words))).toBe(true);
      expect({ ...after, problems: [] }).toEqual({ ...before, problems: [] });
      expect((await board.call('/ready')).status).toBe(200);
    },
  );

  it('lose their problem when they are mended', async () => {
    board.write('fleet.yaml', 'roles: { helm: ava }');
    await waitFor(async () => {
      const { problems } = await state(board);
      return !problems.some(({ file }: { file: string }) => file.endsWith('fleet.yaml'));
    });
  });

  it('are not read half written', async () => {
    const path = join(board.workspace, 'routes.d/slow.yaml');
    writeFileSync(`${path}.part`, 'name: slow\nwhen: { topic: slow.go }\n');
    renameSync(`${path}.part`, path);
    writeFileSync(path, 'name: slow\nwhen: { topic: slow.go }\nthen: { skill: chat }');
    await waitFor(async () => names((await state(board)).routes).includes('slow'));
    expect((await state(board)).problems.some(({ file }: { file: string }) => file === path)).toBe(false);
  });
});

it('starts with a broken file, and says so', async () => {
  const board = await startSwitchboard({
    files: { 'channels.yaml': 'channels: 3', 'agents/ava.yaml': agent('ava') },
  });
  const { problems, agents } = await state(board);
  expect(problems).toHaveLength(1);
  expect(problems[0].error).toContain('channels.yaml:1:');
  expect(names(agents)).toEqual(['ava']);
  await board.stop();
});

it('reads the registry of external agents from AGENTS_YAML [S049]', async () => {
  const other = await startSwitchboard({
    files: { 'elsewhere.yaml': 'agents: [{ name: far, url: "http://127.0.0.1:1/" }]' },
  });
  const board = await startSwitchboard({ env: { AGENTS_YAML: join(other.workspace, 'elsewhere.yaml') } });
  expect(names((await state(board)).externalAgents)).toEqual(['far']);
  await board.stop();
  await other.stop();
});
