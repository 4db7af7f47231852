import { mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { type TemporaryDirectory, temporaryDirectory } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import {
  ConfigError,
  choice,
  decimal,
  defineOptions,
  directory,
  fetchOptions,
  file,
  group,
  grpcOptions,
  homeOptions,
  integer,
  isAddressRange,
  json,
  list,
  logOptions,
  natsOptions,
  type OptionsOf,
  readOptions,
  text,
  toggle,
  tracingOptions,
  url,
} from '../index.ts';

const table = defineOptions('voice', 'Voice', {
  ...group('Network', {
    port: integer({
      env: ['VOICE_PORT', 'PORT'],
      flag: '--port',
      default: 7866,
      min: 0,
      max: 65535,
      doc: 'Port.',
    }),
    host: text({ env: 'VOICE_HOST', flag: '--host', doc: 'Address to bind.' }),
  }),
  headless: toggle({ env: 'CORE_HEADLESS', flag: '--headless', default: false, doc: 'No page.' }),
  setup: toggle({ flag: '--setup', doc: 'Check and exit.' }),
  ui: choice({
    env: 'CORE_UI',
    flag: '--ui',
    values: ['full', 'console', 'none'],
    default: 'full',
    doc: 'Tier.',
  }),
  temperature: decimal({ env: 'LLM_TEMPERATURE', min: 0, max: 2, default: 0.7, doc: 'Spread.' }),
  origins: list({ env: 'A2A_ALLOWED_ORIGINS', doc: 'Origins.' }),
  gateway: url({ env: 'LLM_GATEWAY_URL', doc: 'Gateway.' }),
  servers: json({
    env: 'ICE_SERVERS',
    schema: z.array(z.object({ urls: z.string() })),
    expected: 'a JSON list of servers',
    doc: 'Servers.',
  }),
  apiKey: text({ env: 'LLM_API_KEY', flag: '--api-key', secret: true, doc: 'Key.' }),
  ...logOptions,
});

function read(env: Record<string, string> = {}, ...argv: string[]) {
  return readOptions(table, { env, argv });
}

function problems(env: Record<string, string>, ...argv: string[]): readonly string[] {
  try {
    read(env, ...argv);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe('reading options', () => {
  it('gives defaults, and undefined where there is none', () => {
    expect(read()).toEqual({
      port: 7866,
      host: undefined,
      headless: false,
      setup: undefined,
      ui: 'full',
      temperature: 0.7,
      origins: undefined,
      gateway: undefined,
      servers: undefined,
      apiKey: undefined,
      logLevel: 'INFO',
    });
  });

  it('types a value by its kind and whether it has a default', () => {
    type Options = OptionsOf<typeof table>;
    expectTypeOf<Options['port']>().toEqualTypeOf<number>();
    expectTypeOf<Options['host']>().toEqualTypeOf<string | undefined>();
    expectTypeOf<Options['setup']>().toEqualTypeOf<boolean | undefined>();
    expectTypeOf<Options['ui']>().toEqualTypeOf<'full' | 'console' | 'none'>();
    expectTypeOf<Options['origins']>().toEqualTypeOf<readonly string[] | undefined>();
    expectTypeOf<Options['servers']>().toEqualTypeOf<{ urls: string }[] | undefined>();
    expectTypeOf<Options['logLevel']>().toEqualTypeOf<'DEBUG' | 'INFO' | 'WARNING' | 'ERROR'>();
  });

  it('reads every kind from the environment', () => {
    const env = {
      VOICE_PORT: ' 8080 ',
      CORE_HEADLESS: 'Yes',
      CORE_UI: 'none',
      LLM_TEMPERATURE: '1.5e0',
      A2A_ALLOWED_ORIGINS: ' http://a , ,http://b,',
      LLM_GATEWAY_URL: 'https://gateway.test/v1',
      ICE_SERVERS: '[{"urls":"stun:a"}]',
      LOG_LEVEL: 'warning',
    };
    expect(read(env)).toMatchObject({
      port: 8080,
      headless: true,
      ui: 'none',
      temperature: 1.5,
      origins: ['http://a', 'http://b'],
      gateway: 'https://gateway.test/v1',
      servers: [{ urls: 'stun:a' }],
      logLevel: 'WARNING',
    });
  });

  it('counts a blank variable as unset', () => {
    expect(read({ VOICE_PORT: '', CORE_UI: '  \t', CORE_HEADLESS: '' })).toEqual(read());
  });

  it('takes the first variable that is not blank', () => {
    expect(read({ VOICE_PORT: '1', PORT: '2' }).port).toBe(1);
    expect(read({ VOICE_PORT: ' ', PORT: '2' }).port).toBe(2);
  });

  it('lets flags beat variables, even malformed ones', () => {
    expect(read({ VOICE_PORT: 'x' }, '--port', '1').port).toBe(1);
    expect(read({}, '--port=1', '--port', '2').port).toBe(2);
    expect(read({ CORE_HEADLESS: '1' }, '--no-headless').headless).toBe(false);
    expect(read({}, '--headless', '--setup')).toMatchObject({ headless: true, setup: true });
    expect(read({}, '--headless=off').headless).toBe(false);
    expect(read({}, '--host=a=b').host).toBe('a=b');
  });

  it.each([
    ['1', true],
    ['TRUE', true],
    ['on', true],
    ['0', false],
    ['No', false],
    ['off', false],
    ['false', false],
  ])('reads the toggle %s as %s', (given, expected) => {
    expect(read({ CORE_HEADLESS: given }).headless).toBe(expected);
  });

  it('turns a toggle on by any value where its contract says so', () => {
    const any = defineOptions('x', 'X', {
      skip: toggle({ env: 'DISABLE_X', anyValue: true, default: false, doc: '' }),
    });
    expect(readOptions(any, { env: { DISABLE_X: '0' } }).skip).toBe(true);
    expect(readOptions(any, { env: { DISABLE_X: ' ' } }).skip).toBe(false);
  });

  it('gives options that cannot be changed', () => {
    expect(Object.isFrozen(read())).toBe(true);
  });
});

describe('wrong options', () => {
  it.each([
    [{ PORT: '70000' }, 'PORT is "70000"; expected a whole number from 0 to 65535'],
    [{ VOICE_PORT: '80.5' }, 'VOICE_PORT is "80.5"; expected a whole number from 0 to 65535'],
    [{ VOICE_PORT: '0x50' }, 'VOICE_PORT is "0x50"; expected a whole number from 0 to 65535'],
    [{ LLM_TEMPERATURE: 'NaN' }, 'LLM_TEMPERATURE is "NaN"; expected a number from 0 to 2'],
    [{ CORE_UI: 'Full' }, 'CORE_UI is "Full"; expected one of full, console, none'],
    [{ CORE_HEADLESS: 'maybe' }, 'CORE_HEADLESS is "maybe"; expected 1, true, yes, on, 0, false, no or off'],
    [{ LOG_LEVEL: 'LOUD' }, 'LOG_LEVEL is "LOUD"; expected one of DEBUG, INFO, WARNING, ERROR'],
    [
      { LLM_GATEWAY_URL: 'gateway:4000' },
      'LLM_GATEWAY_URL is "gateway:4000"; expected an address that starts with http:// or https://',
    ],
    [
      { LLM_GATEWAY_URL: 'http://' },
      'LLM_GATEWAY_URL is "http://"; expected an address that starts with http:// or https://',
    ],
    [{ ICE_SERVERS: '[' }, 'ICE_SERVERS is "["; expected a JSON list of servers; this is no valid JSON'],
    [
      { ICE_SERVERS: '[{}]' },
      'ICE_SERVERS is "[{}]"; expected a JSON list of servers; at 0.urls: Invalid input: expected string, received undefined',
    ],
  ])('names the variable, what was given and what was expected: %j', (env, problem) => {
    expect(problems(env as Record<string, string>)).toEqual([problem]);
  });

  it.each([
    [['--port'], '--port needs a value; expected a whole number from 0 to 65535'],
    [['--port='], '--port needs a value; expected a whole number from 0 to 65535'],
    [['--port', '--headless'], '--port needs a value; expected a whole number from 0 to 65535'],
    [['--port', '-5'], '--port is "-5"; expected a whole number from 0 to 65535'],
    [['--prot', '80'], 'unknown flag --prot; did you mean --port?'],
    [['--no-headles'], 'unknown flag --no-headles; did you mean --no-headless?'],
    [['--completely-different=1'], 'unknown flag --completely-different; --help lists the flags'],
    [['-p'], 'unknown flag -p; --help lists the flags'],
    [['--no-port'], 'unknown flag --no-port; did you mean --port?'],
    [['--no-headless=1'], '--no-headless takes no value'],
    [['stray'], 'an argument that belongs to no flag; values follow their flag, as in --name=value'],
  ])('names the flag: %j', (argv, problem) => {
    expect(problems({}, ...argv)).toEqual([problem]);
  });

  it('lists every problem in one error with a code', () => {
    const attempt = () => read({ PORT: 'x', CORE_UI: 'y', LOG_LEVEL: 'z' }, '--prot', '1', '--headless=2');
    expect(attempt).toThrow(ConfigError);
    expect(attempt).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
    expect(attempt).toThrow(
      /^The settings of Voice cannot be used:\n(?: {2}- .+\n){4} {2}- LOG_LEVEL is "z"/,
    );
  });

  it('shows the beginning of a long value', () => {
    expect(problems({ CORE_UI: 'x'.repeat(500) })[0]).toMatch(/^CORE_UI is "x{80}\.\.\."; /);
  });

  it('refuses tables that name two options alike or one not at all', () => {
    const one = () => text({ env: 'SAME', doc: '' });
    expect(() => defineOptions('x', 'X', { a: one(), b: one() })).toThrow(
      'Two options of one table are called SAME.',
    );
    expect(() => defineOptions('x', 'X', { a: text({ doc: '' }) })).toThrow(
      'The option a has neither env nor flag.',
    );
    const negation = text({ flag: '--no-x', doc: '' });
    expect(() => defineOptions('x', 'X', { a: toggle({ flag: '--x', doc: '' }), b: negation })).toThrow(
      '--no-x',
    );
  });
});

describe('the shared options', () => {
  it('keeps data in the home directory unless told otherwise', () => {
    const home = defineOptions('x', 'X', homeOptions);
    expect(readOptions(home, { env: {} }).trunklineHome).toBe(join(homedir(), '.trunkline'));
    expect(readOptions(home, { env: { TRUNKLINE_HOME: '~/elsewhere' } }).trunklineHome).toBe(
      join(homedir(), 'elsewhere'),
    );
    expect(readOptions(home, { env: { TRUNKLINE_HOME: 'data' } }).trunklineHome).toBe(
      join(process.cwd(), 'data'),
    );
  });

  it('sends traces to TRACE_HOST, then TRACE_URL, then port 3001 of this host', () => {
    const tracing = defineOptions('x', 'X', tracingOptions);
    const host = (env: Record<string, string>) => readOptions(tracing, { env }).traceHost;
    expect(host({ TRACE_HOST: 'http://a', TRACE_URL: 'http://b' })).toBe('http://a');
    expect(host({ TRACE_URL: 'http://b' })).toBe('http://b');
    expect(host({})).toBe('http://127.0.0.1:3001');
  });
});

describe('checks', () => {
  let temporary: TemporaryDirectory;
  beforeAll(() => {
    temporary = temporaryDirectory();
    mkdirSync(join(temporary.path, 'folder'));
    writeFileSync(join(temporary.path, 'paper'), 'x');
  });
  afterAll(() => temporary.remove());

  describe('paths', () => {
    const table = defineOptions('x', 'X', {
      directory: directory({ env: 'DIRECTORY', doc: '' }),
      file: file({ env: 'FILE', doc: '' }),
      existing: file({ env: 'EXISTING', mustExist: true, doc: '' }),
    });
    const at = (name: string) => join(temporary.path, name);

    it('takes what is there or may be created', () => {
      const env = { DIRECTORY: at('folder'), FILE: at('none/yet'), EXISTING: at('paper') };
      expect(readOptions(table, { env })).toEqual({
        directory: at('folder'),
        file: at('none/yet'),
        existing: at('paper'),
      });
    });

    it('refuses a file for a directory, a directory for a file, and nothing where something must be', () => {
      const attempt = () =>
        readOptions(table, { env: { DIRECTORY: at('paper'), FILE: at('folder'), EXISTING: at('none') } });
      expect(attempt).toThrow(/DIRECTORY is ".*paper"; expected the path of a directory\n/);
      expect(attempt).toThrow(/FILE is ".*folder"; expected the path of a file\n/);
      expect(attempt).toThrow(/EXISTING is ".*none"; expected the path of a file that exists/);
    });
  });

  describe('public address of gRPC', () => {
    const table = defineOptions('x', 'X', grpcOptions('X'));
    const read = (given: string) => readOptions(table, { env: { X_GRPC_PUBLIC_ADDRESS: given } });

    it.each(['agent.example:443', 'https://agent.example', 'http://[::1]:50051/', '[::1]:50051'])(
      'takes %s',
      (given) => {
        expect(read(given).grpcPublicAddress).toBe(given);
      },
    );

    it.each(['https://agent.example:99999', 'agent.example:99999', 'http://[::::]', 'agent.example'])(
      'refuses %s',
      (given) => {
        expect(() => read(given)).toThrow(/X_GRPC_PUBLIC_ADDRESS is .*expected host:port/);
      },
    );
  });

  describe('address ranges', () => {
    it.each(['10.0.0.0/8', '0.0.0.0/0', '192.168.1.1/32', 'fd00::/8', '::/0'])('takes %s', (range) => {
      expect(isAddressRange(range)).toBe(true);
    });

    it.each([
      '10.0.0.0',
      '10.0.0.0/33',
      'fd00::/129',
      '10.0.0/8',
      '10.0.0.0/8/8',
      'host/8',
      '10.0.0.0/-1',
      '/8',
    ])('refuses %s', (range) => expect(isAddressRange(range)).toBe(false));

    it('checks each entry of FETCH_ALLOWED_CIDRS', () => {
      const table = defineOptions('x', 'X', fetchOptions);
      const read = (ranges: string) =>
        readOptions(table, { env: { FETCH_ALLOWED_CIDRS: ranges } }).fetchAllowedCidrs;
      expect(read('10.0.0.0/8, fd00::/8')).toEqual(['10.0.0.0/8', 'fd00::/8']);
      expect(() => read('10.0.0.0/8,10.1')).toThrow('expected an address range such as 10.0.0.0/8');
    });
  });

  it('takes several NATS servers, with and without a scheme', () => {
    const table = defineOptions('x', 'X', natsOptions);
    const read = (servers: string) => readOptions(table, { env: { NATS_URL: servers } }).natsUrl;
    expect(read('nats://a:4222, tls://b, c:4222')).toEqual(['nats://a:4222', 'tls://b', 'c:4222']);
    expect(() => read('http://a')).toThrow(
      'NATS_URL is "http://a"; expected a server such as nats://host:4222',
    );
  });

  it('checks a text by its rule', () => {
    const check = (range: string) => /^\d+-\d+$/.test(range);
    const ports = text({ env: 'ICE_PORT_RANGE', check, expected: 'two ports such as 50000-50100', doc: '' });
    const table = defineOptions('x', 'X', { ports });
    expect(readOptions(table, { env: { ICE_PORT_RANGE: '1-2' } }).ports).toBe('1-2');
    expect(() => readOptions(table, { env: { ICE_PORT_RANGE: '1' } })).toThrow(
      'expected two ports such as 50000-50100',
    );
  });
});
