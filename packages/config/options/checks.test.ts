import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TemporaryDirectory, temporaryDirectory } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  defineOptions,
  directory,
  fetchOptions,
  file,
  grpcOptions,
  isAddressRange,
  natsOptions,
  readOptions,
  text,
} from '../index.ts';

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
