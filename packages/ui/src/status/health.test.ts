import { describe, expect, it } from 'vitest';
import { labelFor, readHealth, splitFacts } from './health.ts';

const PAGE = 'http://192.168.1.20:7866/';

describe('readHealth', () => {
  it.each([
    [{ status: 'ok' }, 'live', 'Live'],
    [{ ok: true }, 'live', 'Live'],
    [{ ok: false, graph_compiled: false }, 'waiting', 'Not ready yet'],
    [{ status: 'degraded' }, 'waiting', 'Degraded'],
    [{ status: 'broken' }, 'failed', 'broken'],
    [{}, 'failed', 'State unknown'],
    ['not an object', 'failed', 'State unknown'],
  ])('reads the state of %j', (body, state, word) => {
    expect(readHealth(body, PAGE)).toMatchObject({ state, word });
  });

  it('reads the model as a record or as a name', () => {
    expect(readHealth({ model: { name: 'demo', demo: true } }, PAGE).model).toEqual({
      name: 'demo',
      demo: true,
      url: undefined,
    });
    expect(readHealth({ model: 'qwen3-32b' }, PAGE).model).toEqual({
      name: 'qwen3-32b',
      demo: false,
      url: undefined,
    });
    expect(readHealth({ model: { demo: true } }, PAGE).model).toBeUndefined();
  });

  it('tells what is missing only when the service does', () => {
    expect(readHealth({}, PAGE).missing).toBeUndefined();
    expect(readHealth({ missing: [] }, PAGE).missing).toEqual([]);
    const missing = [
      { what: 'A real model', variable: 'LLM_GATEWAY_URL', hint: 'Any address' },
      { variable: 'NO_WORDS' },
    ];
    expect(readHealth({ missing }, PAGE).missing).toEqual([
      { what: 'A real model', variable: 'LLM_GATEWAY_URL', hint: 'Any address' },
    ]);
  });

  it('gives the neighbours addresses that the reader of the page can reach', () => {
    const services = [
      { name: 'agent', url: 'http://127.0.0.1:7870', state: 'live' },
      { name: 'research', url: 'https://research.example.com/', state: 'starting' },
      { name: 'switchboard', url: 'javascript:alert(1)', state: 'failed' },
      { name: 'unheard-of', url: 'http://127.0.0.1:1', state: 'live' },
    ];
    expect(readHealth({ services }, PAGE).services).toEqual([
      { name: 'agent', url: 'http://192.168.1.20:7870/', state: 'live' },
      { name: 'research', url: 'https://research.example.com/', state: 'waiting' },
      { name: 'switchboard', url: undefined, state: 'failed' },
    ]);
  });

  it('makes the other fields readable', () => {
    const body = {
      status: 'ok',
      stt_backend: 'local',
      user_count: 0,
      skills: ['chat', 'tutor'],
      delegates: [{ name: 'agent', type: 'a2a' }],
      audio: { half_duplex: false, echo_guard_ms: 300 },
      nothing: null,
      empty: [],
    };
    expect(readHealth(body, PAGE).facts).toEqual([
      { key: 'stt_backend', value: 'local' },
      { key: 'user_count', value: '0' },
      { key: 'skills', value: 'chat, tutor' },
      { key: 'delegates', value: 'agent' },
      { key: 'audio.half_duplex', value: 'no' },
      { key: 'audio.echo_guard_ms', value: '300' },
      { key: 'empty', value: 'none' },
    ]);
  });
});

describe('labels', () => {
  it('name a field, or make its own name readable', () => {
    expect(labelFor('stt_backend', { stt_backend: 'Speech to text' })).toBe('Speech to text');
    expect(labelFor('audio.echo_guard_ms', {})).toBe('Audio echo guard ms');
  });

  it('put the labelled facts first, in their order', () => {
    const facts = ['c', 'a', 'b'].map((key) => ({ key, value: key }));
    const { named, others } = splitFacts(facts, { b: 'B', a: 'A' });
    expect(named.map(({ key }) => key)).toEqual(['b', 'a']);
    expect(others.map(({ key }) => key)).toEqual(['c']);
  });
});
