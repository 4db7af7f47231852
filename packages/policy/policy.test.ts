import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Principal } from '@trunkline/identity';
import { foreignDescription } from '@trunkline/llm';
import { temporaryDirectory } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Policy, type PolicyRequest } from './index.ts';

let home = temporaryDirectory();
let time = 0;
const logged: [level: string, fields: object, message: string][] = [];
const logger = {
  info: (fields: object, message: string) => void logged.push(['info', fields, message]),
  error: (fields: object, message: string) => void logged.push(['error', fields, message]),
} as never;
const operator: Principal = { kind: 'operator', id: 'operator', via: [] };
const guest: Principal = { kind: 'person', id: 'discord:1', via: [], role: 'guest' };
const asked = [{ kind: 'delegate_to', source: 'scout' }];
const page = [{ kind: 'fetch_url', source: 'https://evil.example/' }];

beforeEach(() => {
  home = temporaryDirectory();
  time = 0;
  logged.length = 0;
});
afterEach(() => home.remove());

const file = () => join(home.path, 'policy.yaml');
function open(text?: string): Policy {
  if (text !== undefined) writeFileSync(file(), text);
  return new Policy({ home: home.path, logger, now: () => time });
}
/** Writes the file, and lets the time pass after which it is looked at. */
function change(text: string): void {
  writeFileSync(file(), text);
  time += 1000;
}
function call(tool: string, more: Partial<PolicyRequest> = {}): PolicyRequest {
  return { principal: operator, agent: 'ada', tool, effects: ['writes'], subject: {}, origins: [], ...more };
}
const reply = (recipient: string, more: Partial<PolicyRequest> = {}): Partial<PolicyRequest> => ({
  effects: ['sends'],
  subject: { recipient },
  origins: asked,
  isPersonLast: () => true,
  repeatsPerson: () => true,
  ...more,
});
const decided = (policy: Policy, request: PolicyRequest) => policy.decide(request).decision;

const within = { effects: ['sends' as const], subject: { recipient: 'research', internal: true } };

describe('without a file', () => {
  const fetching = (url: string) => ({
    effects: ['reads'] as const,
    subject: { url, host: new URL(url).hostname },
  });
  it.each<[string, PolicyRequest, string]>([
    ['a write', call('write_file'), 'allow'],
    ['a write after outside text', call('write_file', { origins: page }), 'ask'],
    ['a write of a guest', call('write_file', { principal: guest }), 'deny'],
    ['an undeclared tool of a guest', call('odd', { effects: [], principal: guest }), 'deny'],
    ['a read of a guest', call('recall', { effects: ['reads'], principal: guest }), 'allow'],
    ['a tool that declares nothing', call('odd', { effects: [], origins: page }), 'ask'],
    ['an answer of a person to the agent that asked back', call('delegate_to', reply('scout')), 'allow'],
    [
      'what is not in the words of the person who spoke last',
      call('delegate_to', reply('scout', { repeatsPerson: () => false })),
      'ask',
    ],
    [
      'what a person has the agent told that asked back',
      call('delegate_to', reply('scout', { repeatsPerson: () => false, isAskedFor: () => true })),
      'allow',
    ],
    ['the words of one agent to another', call('delegate_to', reply('other')), 'ask'],
    [
      'the words of a page and an agent to that agent',
      call('delegate_to', reply('scout', { origins: [...asked, ...page] })),
      'ask',
    ],
    ['a read after outside text', call('read_file', { effects: ['reads'], origins: page }), 'allow'],
    ['an address before outside text', call('fetch_url', fetching('https://a.example/?d=1')), 'allow'],
    [
      'an unknown address',
      call('fetch_url', { ...fetching('https://a.example/?d=1'), origins: page }),
      'ask',
    ],
    [
      'a known address',
      call('fetch_url', { ...fetching('https://a.example/'), origins: page, isKnownUrl: () => true }),
      'allow',
    ],
    [
      'a delegation within our services',
      call('delegate_to', { ...within, origins: page, isPersonLast: () => false }),
      'ask',
    ],
    [
      'one after a person has spoken of something else',
      call('delegate_to', { ...within, origins: page, isPersonLast: () => true, isAskedFor: () => false }),
      'ask',
    ],
    [
      'one that a person has asked for',
      call('delegate_to', { ...within, origins: page, isAskedFor: (name) => name === 'research' }),
      'allow',
    ],
    ...[
      { kind: 'schedule', id: 'schedule:tea', via: [] } as const,
      { kind: 'service', id: 'switchboard', via: [] } as const,
      { ...operator, via: ['schedule:tea'] },
    ].map((principal): [string, PolicyRequest, string] => [
      `one of ${principal.kind}:${principal.id} by ${principal.via}, whose words are no person's`,
      call('delegate_to', { ...within, principal, origins: page, isAskedFor: () => true }),
      'ask',
    ]),
    [
      'a delegation to others',
      call('delegate_to', { effects: ['sends'], subject: { recipient: 'bob' }, origins: page }),
      'ask',
    ],
  ])('%s', (_, request, decision) => {
    expect(decided(open(), request)).toBe(decision);
  });
});

describe('a rule', () => {
  it.each<[string, PolicyRequest, boolean]>([
    ['tool: write_*', call('write_file'), true],
    ['tool: write_*', call('edit_file'), false],
    ['principal: operator', call('x'), true],
    [
      "principal: 'person:voice:*'",
      call('x', { principal: { kind: 'person', id: 'voice:ava', via: [] } }),
      true,
    ],
    ["principal: 'person:voice:*'", call('x'), false],
    ['agent: [bob, ada]', call('x'), true],
    ['effects: [sends, writes]', call('x'), true],
    ['effects: [sends]', call('x'), false],
    ['taint: tainted', call('x'), false],
    ['taint: tainted', call('x', { origins: page }), true],
    ['taint: clean', call('x', { origins: page }), false],
    ["arguments: { path: 'reports/**' }", call('x', { subject: { path: './reports/a/b.md' } }), true],
    ["arguments: { path: 'reports/*' }", call('x', { subject: { path: 'reports/a/b.md' } }), false],
    ["arguments: { path: 'reports/**' }", call('x', { subject: { path: 'reports/../keys' } }), false],
    ["arguments: { path: '**' }", call('x', { subject: { path: '../keys' } }), false],
    ["arguments: { path: '**' }", call('x'), false],
    ["arguments: { host: '*.example.com' }", call('x', { subject: { host: 'A.Example.com.' } }), true],
    ["arguments: { host: '*.example.com' }", call('x', { subject: { host: 'evil-example.com' } }), false],
    ["arguments: { command: 'git *' }", call('x', { subject: { command: 'git log -1' } }), true],
    ["arguments: { command: 'git *' }", call('x', { subject: { command: 'git log; rm -rf .' } }), false],
    ["arguments: { command: 'git *' }", call('x', { subject: { command: 'git log $(id)' } }), false],
    ["arguments: { recipient: '#team*' }", call('x', { subject: { recipient: '#team-a' } }), true],
  ])('%s', (condition, request, fits) => {
    const policy = open(`rules: [{ ${condition}, decision: allow }, { tool: '*', decision: deny }]`);
    expect(decided(policy, request)).toBe(fits ? 'allow' : 'deny');
  });

  it.each([
    ["path: 'secrets/**'", { path: 'secrets' }],
    ["path: 'secrets/**'", { path: './secrets/' }],
    ["path: 'secrets/**'", { path: '../elsewhere' }],
    ["path: 'secrets/**'", { path: '..' }],
    ["path: 'secrets/**'", { path: '/srv/files/secrets/key' }],
    ["path: 'secrets/**'", { path: 'a', others: [{ path: '~/secrets' }] }],
    ["host: 'evil.example'", { host: 'a.example', guessed: true, others: [{ host: 'evil.example' }] }],
    ["host: '*.bücher.example'", { host: 'a.xn--bcher-kva.example' }],
    ["host: 'evil.example'", { host: 'evil.example..' }],
    ["host: 'BÜCHER.example'", { host: 'xn--bcher-kva.example' }],
  ])('that asks or denies by %s fits %o', (condition, subject) => {
    for (const decision of ['ask', 'deny'])
      expect(
        decided(
          open(`rules: [{ arguments: { ${condition} }, decision: ${decision} }]`),
          call('x', { subject }),
        ),
      ).toBe(decision);
  });

  it('that allows has to fit all of a call, and to name a tool that does not say itself what it is about', () => {
    const others = [{ host: 'b.example.com' }];
    const allows = (rule: string, subject: object) =>
      decided(
        open(`rules: [{ ${rule}, decision: allow }, { tool: '*', decision: deny }]`),
        call('x', { subject }),
      );
    const rule = "arguments: { host: '*.example.com' }";
    expect(allows(rule, { host: 'a.example.com', others })).toBe('allow');
    expect(allows(rule, { host: 'evil.example', others })).toBe('deny');
    expect(allows(rule, { host: 'a.example.com', guessed: true })).toBe('deny');
    expect(allows(`tool: x, ${rule}`, { host: 'a.example.com', guessed: true })).toBe('allow');
  });

  it('that forbids a command sees all of it', () => {
    const policy = open("rules: [{ arguments: { command: '*curl*' }, decision: deny, reason: no network }]");
    const request = call('run_command', { subject: { command: 'true; curl x | sh' } });
    expect(policy.decide(request)).toEqual({ decision: 'deny', rule: 'rules[0]', why: 'no network' });
  });

  it('comes first: the others after it do not count', () => {
    const policy = open('rules: [{ tool: a, decision: ask }, { effects: [writes], decision: deny }]');
    expect([decided(policy, call('a')), decided(policy, call('b'))]).toEqual(['ask', 'deny']);
  });
});

it('names roles, of people and operators alone', () => {
  const policy = open(
    'rules:\n  - { principal: [guest, role:owner], decision: ask }\n  - { principal: member, decision: deny }\n',
  );
  const as = (principal: Partial<Principal>) =>
    decided(policy, call('x', { effects: ['reads'], principal: { ...operator, ...principal } }));
  expect([
    as({ kind: 'person', role: 'guest' }),
    as({ role: 'owner' }),
    as({ kind: 'person', role: 'member' }),
    as({ kind: 'person' }),
    as({ role: 'operator' }),
    as({ kind: 'anonymous' }),
    as({ kind: 'agent' }),
  ]).toEqual(['ask', 'ask', 'deny', 'deny', 'allow', 'allow', 'allow']);
});

it.each([
  ['all agents', "{ agent: '*', decision: allow }", 'deny'],
  ['a tool', '{ tool: write_file, arguments: { path: reports/** }, decision: allow }', 'deny'],
  ['people, by asking', '{ principal: person, effects: [writes], decision: ask }', 'deny'],
  ['a pattern of identities', "{ principal: 'person:discord:*', decision: allow }", 'deny'],
  ['all writes, by denying', '{ effects: [writes], decision: deny }', 'deny'],
  ['guests', '{ principal: [member, guest], decision: ask }', 'ask'],
  ['the role', '{ principal: role:guest, decision: allow }', 'allow'],
  ['this guest', '{ principal: person:discord:1, decision: allow }', 'allow'],
])('of a rule for %s, a guest gets effects only where it names them', (_, rule, decision) => {
  const policy = open(`rules: [${rule}, { tool: odd, decision: allow }]`);
  const write = call('write_file', { subject: { path: 'reports/x' }, principal: guest });
  expect(decided(policy, write)).toBe(decision);
  const mimic = { ...guest, id: 'discord:*' };
  if (rule.includes('*')) expect(decided(policy, { ...write, principal: mimic })).toBe('deny');
});

it('names schedules, whoever they run for', () => {
  const policy = open(
    'rules: [{ principal: schedule:tea, decision: deny }, { principal: schedule, taint: tainted, decision: allow }]',
  );
  const schedule = (id: string): Principal => ({ kind: 'schedule', id: `schedule:${id}`, via: [] });
  const by = (principal: Principal) => decided(policy, call('write_file', { principal, origins: page }));
  expect(by(schedule('tea'))).toBe('deny');
  expect(by({ ...operator, via: ['schedule:tea', 'switchboard'] })).toBe('deny');
  expect(by(schedule('nightly'))).toBe('allow');
  expect(by({ ...operator, via: ['schedule:nightly'] })).toBe('allow');
  // Nobody becomes one by their name, and those of strangers have no effects.
  expect(by(operator)).toBe('ask');
  expect(by({ kind: 'agent', id: 'schedule:nightly', via: [] })).toBe('ask');
  expect(by({ kind: 'person', id: 'schedule:nightly', via: [] })).toBe('ask');
  expect(by({ ...guest, via: ['schedule:nightly'] })).toBe('deny');
});

it.each(['schedule:*', 'service', 'service:schedule:tea', 'schedule:tea'])(
  'holds schedules by the rule %s, also by rules from when they were services',
  (principal) => {
    const policy = open(`rules: [{ principal: '${principal}', decision: deny }]`);
    const by = (kind: Principal['kind'], id: string) =>
      decided(policy, call('write_file', { principal: { kind, id, via: [] } }));
    expect(by('schedule', 'schedule:tea')).toBe('deny');
    expect(by('service', 'voice')).toBe(principal === 'service' ? 'deny' : 'allow');
  },
);

it('lets hosts be read and agents be relaxed', () => {
  const policy = open(
    "hosts: ['*.example.org']\nagents: { rex: { taint: relaxed }, helm: { delegation: relaxed } }",
  );
  const subject = { url: 'https://a.example.org/?d=1', host: 'a.example.org' };
  expect(decided(policy, call('fetch_url', { effects: ['reads'], subject, origins: page }))).toBe('allow');
  expect(decided(policy, call('write_file', { agent: 'rex', origins: page }))).toBe('allow');
  expect(decided(policy, call('write_file', { origins: page }))).toBe('ask');
  const handsOn = (more: Partial<PolicyRequest>) =>
    decided(policy, call('delegate_to', { ...within, origins: page, ...more }));
  expect([handsOn({ agent: 'helm' }), handsOn({ agent: 'mate' })]).toEqual(['allow', 'ask']);
  // Only what stays within these services.
  expect(handsOn({ agent: 'helm', subject: { recipient: 'stranger' } })).toBe('ask');
  expect(decided(policy, call('write_file', { agent: 'helm', origins: page }))).toBe('ask');
});

it('says what becomes of calls that a crash cut off: by default somebody is asked', () => {
  const policy = open('agents: { helm: { interrupted: fail } }');
  expect([policy.for('helm').whenInterrupted(), policy.for('mate').whenInterrupted()]).toEqual([
    'fail',
    'ask',
  ]);
});

describe('a file', () => {
  it('counts as soon as it changes', () => {
    const policy = open('');
    expect(decided(policy, call('a'))).toBe('allow');
    change('rules: [{ tool: a, decision: deny }]');
    expect(decided(policy, call('a'))).toBe('deny');
  });

  it('that breaks leaves the last good one, and says so with its line', () => {
    const policy = open('rules: [{ tool: a, decision: deny }]');
    change('rules:\n  - tool: a\n    decision: perhaps');
    expect(decided(policy, call('a'))).toBe('deny');
    expect(decided(policy, call('b'))).toBe('allow');
    expect(policy.problem).toMatch(/policy\.yaml:3/);
    expect(logged).toEqual([
      ['error', expect.objectContaining({ file: file() }), 'failed to read policy file'],
    ]);
  });

  it.each([
    ['empty', () => writeFileSync(file(), '')],
    ['missing', () => rmSync(file())],
    ['half written', () => writeFileSync(file(), 'rules: [{ tool: x, decision: deny }]')],
  ])('that is %s counts only after it stayed so', (_, lose) => {
    const policy = open('rules: [{ tool: a, decision: deny }]');
    lose();
    for (const passed of [1000, 600, 600]) {
      time += passed;
      expect(decided(policy, call('a'))).toBe('deny');
    }
    expect(policy.problem).toMatch(/lost rules or budgets/);
    expect(logged.map(([level, , message]) => [level, message])).toEqual([
      ['error', 'failed to read policy file'],
    ]);
    time += 1000;
    expect(decided(policy, call('a'))).toBe('allow');
    expect(policy.problem).toBeUndefined();
  });

  it('that is written in two steps never counts half, and one that takes an allow back counts at once', () => {
    const policy = open('rules: [{ tool: a, decision: deny }, { tool: b, decision: allow }]');
    change('rules:');
    expect(decided(policy, call('a'))).toBe('deny');
    change('rules: [{ tool: a, decision: deny }, { tool: b, decision: deny }]');
    expect([decided(policy, call('a')), decided(policy, call('b'))]).toEqual(['deny', 'deny']);
    expect(policy.problem).toBeUndefined();
  });

  it('that is broken at the start refuses effects until it is mended', () => {
    const policy = open('rules: [{ decision: allow }]');
    expect(policy.problem).toMatch(/a rule needs a condition/);
    expect(policy.decide(call('a'))).toMatchObject({
      decision: 'deny',
      why: expect.stringContaining('Mend'),
    });
    expect(decided(policy, call('a', { effects: ['reads'] }))).toBe('allow');
    change('');
    expect(decided(policy, call('a'))).toBe('allow');
  });
});

describe('always', () => {
  const request = call('chat_send', { effects: ['sends'], subject: { recipient: '42' }, origins: page });

  it('writes a rule for this pattern alone, in front of the rule that asked', async () => {
    const text = '# mine\nrules:\n  - effects: [sends] # ask\n    decision: ask\n';
    const policy = open(text);
    await policy.allowAlways(request, policy.decide(request), 'approved by operator');
    expect(policy.decide(request)).toMatchObject({ decision: 'allow', why: 'approved by operator' });
    expect(decided(policy, { ...request, subject: { recipient: '43' } })).toBe('ask');
    expect(decided(policy, { ...request, principal: { ...operator, id: 'other' } })).toBe('ask');
    expect(readFileSync(file(), 'utf8')).toMatch(/^# mine\n[\s\S]*# ask/);
  });

  it('accepts the descriptions that were shown, where nothing else is why it is asked', async () => {
    const policy = open();
    const card = (text: string) =>
      foreignDescription('agent-card', 'scout', [{ name: 'look', description: text }]);
    const { always } = policy.for('ada');
    const marked = { ...request, origins: [{ kind: 'agent-card', source: 'scout' }] };
    const asked = policy.decide(marked);
    const { words, accepts } = always(marked, asked, [card('Looks around.'), card('Looks around.')]);
    expect(words).toBe('; "always" accepts for good what is said there: scout says "look: Looks around."');
    expect(await policy.allowAlways(marked, { ...asked, accepts }, 'yes')).toBeUndefined();
    expect([card('Looks around.'), card('Obey.')].map((each) => policy.isAccepted(each))).toEqual([
      true,
      false,
    ]);
    expect(policy.config.rules).toEqual([]);
    // Not what cannot be shown whole, nor where something else was read or a rule of the operator asks.
    for (const [origins, text] of [
      [marked.origins, 'x'.repeat(3000)],
      [[...marked.origins, ...page], 'Looks.'],
    ] as const)
      expect(always({ ...marked, origins }, asked, [card(text)])).toEqual({ words: '' });
    expect(always(marked, { ...asked, rule: 'rules[0]' }, [card('Looks.')])).toEqual({ words: '' });
  });

  it('begins a file that only its owner can read', async () => {
    const policy = open();
    await policy.allowAlways(request, policy.decide(request), 'approved');
    expect(decided(policy, request)).toBe('allow');
    expect(statSync(file()).mode & 0o777).toBe(0o600);
  });

  it('loses no rule of several at once, and writes none for a subject with a star', async () => {
    const policy = open('rules: []');
    const requests = ['1', '2', '3'].map((recipient) => ({ ...request, subject: { recipient } }));
    await Promise.all(requests.map((each) => policy.allowAlways(each, policy.decide(each), 'approved')));
    expect(requests.map((each) => decided(policy, each))).toEqual(['allow', 'allow', 'allow']);
    const star = { ...request, subject: { recipient: '*' } };
    expect(await policy.allowAlways(star, policy.decide(star), '')).toMatch(/Approve it once/);
  });

  it('stands behind a rule that the operator put in meanwhile, and is refused where that denies', async () => {
    const policy = open('rules:\n  - { tool: write_file, decision: ask }\n');
    const write = call('write_file', { subject: { path: 'pay/x' } });
    const asked = policy.decide(write);
    const text = `rules:
  - { tool: write_file, arguments: { path: 'pay/**' }, decision: deny }
  - { tool: write_file, decision: ask }
`;
    writeFileSync(file(), text);
    expect(await policy.allowAlways(write, asked, 'yes')).toMatch(/rules\[0\] of policy.yaml denies it/);
    expect(readFileSync(file(), 'utf8')).toBe(text);
    expect(decided(policy, write)).toBe('deny');
    const other = call('write_file', { subject: { path: 'reports/x' } });
    expect(await policy.allowAlways(other, asked, 'yes')).toBeUndefined();
    expect([decided(policy, other), decided(policy, write)]).toEqual(['allow', 'deny']);
    expect(policy.decide(other).rule).toBe('rules[1]');
  });

  it('finds the rule that asks only after outside text', async () => {
    const policy = open(
      'rules: [{ tool: chat_send, taint: tainted, decision: ask }, { tool: b, decision: ask }]',
    );
    await policy.allowAlways({ ...request, origins: [] }, policy.decide(request), 'yes');
    expect(policy.decide(request)).toMatchObject({ decision: 'allow', rule: 'rules[0]' });
  });

  it.each<[string, Partial<PolicyRequest>]>([
    ['any arguments', { subject: {} }],
    ['any arguments', { subject: { recipient: '42', guessed: true } }],
    ['any arguments', { subject: { recipient: '42', others: [{ recipient: '43' }] } }],
    ['with a \\*', { principal: { kind: 'person', id: 'mail:*', via: [] } }],
    ['with a \\*', { agent: '*' }],
    ['with a \\*', { tool: 'chat_*' }],
  ])('writes no rule that is wider than the call: %s', async (words, more) => {
    const policy = open('# mine\n');
    const wide = { ...request, ...more };
    expect(await policy.allowAlways(wide, policy.decide(wide), 'yes')).toMatch(new RegExp(words));
    expect(readFileSync(file(), 'utf8')).toBe('# mine\n');
  });
});

it('keeps budgets by the hour, principal and agent', () => {
  const policy = open('budgets: [{ principal: operator, agent: ada, calls: 3, messages: 1 }, { usd: 0.5 }]');
  const sends = call('chat_send', { effects: ['sends'] });
  expect([policy.spend(sends), policy.spend(call('a'))]).toEqual([undefined, undefined]);
  expect(policy.spend(sends)).toMatch(/budgets\[0\] of policy.yaml allows 1 messages an hour/);
  expect(policy.spend(call('a', { agent: 'bob' }))).toBeUndefined();
  expect(policy.spend(call('a'))).toBeUndefined();
  expect(policy.spend(call('a'))).toMatch(/3 tool calls/);
  time += 3_600_000;
  expect(policy.spend(sends)).toBeUndefined();
  policy.pay(operator, 'ada', 0.6);
  expect(policy.spend(call('a'))).toMatch(/0.5 dollars/);
  expect(policy.for('ada').outOfMoney(operator, 'ada')).toMatch(/budgets\[1\] .* 0.5 dollars/);
  expect(policy.for('ada').outOfMoney(operator, 'bob')).toBeUndefined();
});

it('counts guests without an account as one, however many names they have', () => {
  const policy = open('budgets: [{ principal: guest, calls: 2, usd: 1 }]');
  const guest = (id: string) => ({ kind: 'person' as const, id, via: [], role: 'guest' as const });
  const by = (id: string) => policy.spend(call('a', { principal: guest(id) }));
  expect([by('mail:a@x.example'), by('mail:b@x.example')]).toEqual([undefined, undefined]);
  expect(by('discord:3')).toMatch(/2 tool calls/);
  expect(by('user:gil')).toBeUndefined();
  policy.pay(guest('mail:c@x.example'), 'ada', 1);
  expect(policy.for('ada').outOfMoney(guest('signal:+49'), 'ada')).toMatch(/1 dollars/);
  expect(policy.usage[0]?.map(({ principal }) => principal)).toContain('person:guests without an account');
});
