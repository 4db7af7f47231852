import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseYaml } from '@trunkline/config';
import { temporaryDirectory } from '@trunkline/testing';
import { afterAll, describe, expect, it } from 'vitest';
import {
  externalAgentSchema,
  externalAgentsSchema,
  loadDelegates,
  targetsSchema,
  toExternalAgents,
  toTargets,
} from './external-agents.ts';

const directory = temporaryDirectory();
let files = 0;

afterAll(() => directory.remove());

/** A directory with these files. */
function folder(contents: Record<string, string>): string {
  files += 1;
  const place = join(directory.path, String(files));
  mkdirSync(place);
  for (const [name, text] of Object.entries(contents)) {
    mkdirSync(dirname(join(place, name)), { recursive: true });
    writeFileSync(join(place, name), text);
  }
  return place;
}

const env = { SCOUT_KEY: 'key', SCOUT_HOST: 'scout.example', EMPTY: '' };

describe('delegates.yaml', () => {
  const load = (text: string) =>
    loadDelegates(join(folder({ 'delegates.yaml': text }), 'delegates.yaml'), env);

  it('reads whose card is believed', async () => {
    const loaded = await load(
      'delegates: [{ type: a2a, name: sealed, description: Signs, url: http://scout.example, cardKeys: [{ kty: OKP, x: a }], cardHosts: [b.example] }]',
    );
    expect(loaded.entries).toMatchObject([
      { agent: { trust: { keys: [{ kty: 'OKP', x: 'a' }] }, cardHosts: ['b.example'] } },
    ]);
  });

  it('reads an agent with its credential and headers [V027] [V028] [V029] [V030] [V031] [V032] [V033] [V106]', async () => {
    const loaded = await load(`
delegates:
  - name: scout
    description: Finds things.
    type: a2a
    url: https://\${SCOUT_HOST}/\${SCOUT_PATH:-a2a}
    auth: { scheme: apiKey, credentialsEnv: SCOUT_KEY }
    headers: { X-Team: dev }
  - name: guide
    description: Knows the way.
    type: a2a
    url: http://guide.example/a2a
    auth: { scheme: bearer, credentialsEnv: SCOUT_KEY }
`);
    expect(loaded).toEqual({
      warnings: [],
      entries: [
        {
          type: 'a2a',
          name: 'scout',
          description: 'Finds things.',
          agent: {
            name: 'scout',
            url: 'https://scout.example/a2a',
            protocol: '0.3',
            credentials: { apiKey: 'key' },
            headers: { 'X-Team': 'dev' },
          },
        },
        expect.objectContaining({
          name: 'guide',
          agent: expect.objectContaining({ credentials: { bearer: 'key' } }),
        }),
      ],
    });
  });

  it('reads a model behind a chat API with its defaults [V034] [V035] [V036] [V037] [V038] [V119] [V120]', async () => {
    const { entries } = await load(`
delegates:
  - { name: a, description: d, type: compat, url: "http://llm.example/v1", model: small }
  - name: b
    description: d
    type: compat
    url: http://llm.example/v1
    model: large
    api_key_env: SCOUT_KEY
    max_tokens: 900
    temperature: 0
    system_prompt: Be brief.
`);
    expect(entries).toEqual([
      {
        type: 'compat',
        name: 'a',
        description: 'd',
        url: 'http://llm.example/v1',
        model: 'small',
        maxTokens: 400,
        temperature: 0.4,
      },
      expect.objectContaining({ apiKey: 'key', maxTokens: 900, temperature: 0, systemPrompt: 'Be brief.' }),
    ]);
  });

  it('warns of a credential that is not set and keeps the entry [V032] [V035]', async () => {
    const { entries, warnings } = await load(`
delegates:
  - { name: a, description: d, type: a2a, url: "http://a.example", auth: { scheme: bearer, credentialsEnv: MISSING } }
  - { name: b, description: d, type: compat, url: "http://b.example", model: m, api_key_env: EMPTY }
`);
    expect(entries.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(warnings).toEqual([
      'delegate a: the variable MISSING that holds its credential is not set',
      'delegate b: the variable EMPTY that holds its key is not set',
    ]);
  });

  it('has none without a file, or with an empty one', async () => {
    expect(await loadDelegates(join(directory.path, 'nowhere.yaml'), env)).toEqual({
      entries: [],
      warnings: [],
    });
    expect((await load('')).entries).toEqual([]);
    expect((await load('delegates:\n')).entries).toEqual([]);
  });

  it.each([
    ['another type', '- { name: a, description: d, type: soap, url: "http://a.example" }', /2.*type/s],
    ['no description', '- { name: a, type: a2a, url: "http://a.example" }', /description/],
    ['an address that is none', '- { name: a, description: d, type: a2a, url: nowhere }', /url/],
    ['another scheme of address', '- { name: a, description: d, type: a2a, url: "ftp://a.example" }', /url/],
    ['no model', '- { name: a, description: d, type: compat, url: "http://a.example" }', /model/],
    [
      'a name twice',
      '- { name: a, description: d, type: a2a, url: "http://a.example" }\n  - { name: a, description: e, type: a2a, url: "http://b.example" }',
      /:3:.*the name a stands twice/s,
    ],
    ['broken YAML', '- { name: a', /delegates\.yaml/],
  ])('names the file and the line of %s', async (_what, entries, words) => {
    const error = await load(`delegates:\n  ${entries}\n`).catch((reason: unknown) => reason);
    expect(String((error as Error).message)).toMatch(words);
    expect(String((error as Error).message)).toContain('delegates.yaml');
  });
});

describe('agents.yaml and agents.d', () => {
  const load = (text: string) => {
    const { agents } = parseYaml(text, externalAgentsSchema, { file: 'agents.yaml', env });
    return toExternalAgents(agents ?? [], env);
  };

  it('reads every field [S025] [S026] [S028] [S029] [S030] [S031] [S032] [S033] [S034] [S035]', async () => {
    const { entries, warnings } = load(`
agents:
  - name: scout
    url: http://scout.example/a2a
    auth: { scheme: hmac, credentialsEnv: SCOUT_KEY }
    headers: { X-Team: dev }
    streaming: true
    chatBotTokenEnvKey: SCOUT_BOT
    skills: [look, { name: find, description: Finds. }]
    subscribesTo: [message.inbound.#]
    team: security
    chain: { look: guide }
`);
    expect(warnings).toEqual([]);
    expect(entries).toEqual([
      {
        name: 'scout',
        agent: {
          name: 'scout',
          url: 'http://scout.example/a2a',
          credentials: { hmacSecret: 'key' },
          headers: { 'X-Team': 'dev' },
        },
        streaming: true,
        chatBotTokenEnvKey: 'SCOUT_BOT',
        skills: [{ name: 'look' }, { name: 'find', description: 'Finds.' }],
        subscribesTo: ['message.inbound.#'],
        team: 'security',
        chain: { look: 'guide' },
      },
    ]);
  });

  it('takes the older key field, and prefers the newer one [S027] [S028]', async () => {
    const { entries } = load(`
agents:
  - { name: old, url: "http://a.example", apiKeyEnv: SCOUT_KEY }
  - { name: both, url: "http://b.example", apiKeyEnv: MISSING, auth: { scheme: bearer, credentialsEnv: SCOUT_KEY } }
`);
    expect(entries.map(({ agent }) => agent.credentials)).toEqual([{ apiKey: 'key' }, { bearer: 'key' }]);
  });

  it('has none in an empty file', () => {
    expect(load('')).toEqual({ entries: [], warnings: [] });
    expect(load('agents:').entries).toEqual([]);
  });

  it('names what is wrong', () => {
    const file = 'agents.d/broken.yaml';
    const wrong = () => parseYaml('name: broken\n', externalAgentSchema, { file, env });
    expect(wrong).toThrow(/broken\.yaml.*url/s);
    const twice = 'agents: [{ name: a, url: "http://a.example" }, { name: a, url: "http://b.example" }]';
    expect(() => load(twice)).toThrow('the name a stands twice');
  });
});

describe('a2a.yaml', () => {
  const load = (text: string) => toTargets(parseYaml(text, targetsSchema, { file: 'a2a.yaml', env }));

  it('reads targets with their credentials [S101]', async () => {
    const targets = load(`
targets:
  home: { url: "http://\${SCOUT_HOST}/a2a", bearer_token: "\${SCOUT_KEY}", api_key: other }
  open: { url: "http://open.example/a2a" }
`);
    expect(targets.get('home')).toEqual({
      name: 'home',
      url: 'http://scout.example/a2a',
      protocol: '0.3',
      credentials: { bearer: 'key', apiKey: 'other' },
    });
    expect(targets.get('open')?.credentials).toEqual({});
    expect(targets.size).toBe(2);
  });

  it('has none in an empty file', () => {
    expect(load('').size).toBe(0);
  });

  it('does not show a secret when something is wrong', async () => {
    const wrong = () => load(`targets:\n  home: { url: 7, bearer_token: "\${SCOUT_KEY}" }\n`);
    expect(wrong).toThrow(/a2a\.yaml.*url/s);
    expect(wrong).not.toThrow(/key/);
  });
});
