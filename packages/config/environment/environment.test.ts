import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TemporaryDirectory, temporaryDirectory } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConfigError, loadEnvironmentFile, readVariable, readVariables } from '../index.ts';

describe('variables named by data', () => {
  const env = {
    PEER_ROXY_URL: 'http://roxy',
    PEER_ADA_URL: ' http://ada ',
    PEER_BLANK_URL: ' ',
    PEER_ADA_TOKEN: 't',
    XPEER_A_URL: 'x',
  };

  it('gives each value under what the pattern captured', () => {
    expect([...readVariables(/^PEER_(.+)_URL$/, env)]).toEqual([
      ['ADA', 'http://ada'],
      ['ROXY', 'http://roxy'],
    ]);
  });

  it('is not led astray by a global pattern', () => {
    expect(readVariables(/^PEER_(.+)_URL$/gy, env).size).toBe(2);
  });

  it('reads one variable, a blank one as unset', () => {
    expect(readVariable('PEER_ADA_TOKEN', env)).toBe('t');
    expect(readVariable('PEER_BLANK_URL', env)).toBeUndefined();
    expect(readVariable('NONE', env)).toBeUndefined();
    for (const name of ['constructor', 'toString', '__proto__'])
      expect(readVariable(name, env)).toBeUndefined();
    expect(readVariable('PATH')).toBe(process.env.PATH);
  });
});

describe('loadEnvironmentFile', () => {
  let temporary: TemporaryDirectory;
  let path: string;
  beforeEach(() => {
    temporary = temporaryDirectory();
    path = join(temporary.path, '.env');
  });
  afterEach(() => temporary.remove());
  const load = (content: string, env = {}) => {
    writeFileSync(path, content);
    return loadEnvironmentFile(path, env);
  };

  it.each([
    ['A=1', '1'],
    ['  export A = spaced out  ', 'spaced out'],
    ['A=plain # a comment', 'plain'],
    ['A=not#a-comment', 'not#a-comment'],
    ['A=# only a comment', ''],
    ['A=', ''],
    ['A="two\\nlines" # comment', 'two\nlines'],
    ["A='two\\nlines'", 'two\\nlines'],
    ['A="a \\"quoted\\" # word"', 'a "quoted" # word'],
    ['A="back\\\\slash\\d"', 'back\\slash\\d'],
    ['A="first\nsecond"', 'first\nsecond'],
    ['A=x=y', 'x=y'],
    ['A=1\nA=2', '2'],
  ])('reads %j', (content, expected) => {
    expect(load(content)).toEqual({ A: expected });
  });

  it('reads a file with a byte order mark, CRLF and comments', () => {
    expect(load('\uFEFF# top\r\nA=1\r\n\r\n  # more\r\nB="x\r\ny"\r\n')).toEqual({ A: '1', B: 'x\ny' });
  });

  it('does not override what is set, even to nothing', () => {
    expect(load('A=file\nB=file\nC=file', { A: 'real', B: '' })).toEqual({ A: 'real', B: '', C: 'file' });
  });

  it('adds nothing when there is no file', () => {
    expect(loadEnvironmentFile(join(temporary.path, 'none'), { A: '1' })).toEqual({ A: '1' });
  });

  it('names every malformed line and quotes none', () => {
    const attempt = () => load('A=1\nsk-hidden-secret\n2B=sk-hidden\nC="sk-hidden" more\nD="sk-hidden\nE=2');
    expect(attempt).toThrow(ConfigError);
    expect(attempt).toThrow(
      /\.env:2: expected NAME=value\n.*\.env:3: expected NAME=value\n.*\.env:4: there is something after the value of C\n.*\.env:5: the " that opens the value of D is never closed$/,
    );
    expect(attempt).not.toThrow('sk-hidden');
  });

  it('says when the file cannot be read', () => {
    mkdirSync(path);
    expect(() => loadEnvironmentFile(path, {})).toThrow(/\.env cannot be read:\n.*EISDIR/);
  });
});
