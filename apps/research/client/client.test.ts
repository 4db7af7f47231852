import { describe, expect, it } from 'vitest';
import type { Claim } from '../api-types.ts';
import { partsOf, readChat } from './chat/chatStream.ts';
import { citedBy, withoutSourceList, withPart } from './chat/useChat.ts';
import { labelOf, linkMarks, targetOf } from './citations/CitedText.tsx';
import { costWords, countWords, durationWords, placeOf, titleOf } from './lib/format.ts';
import { hrefOf, routeOf } from './lib/route.ts';
import { applyEvent, EMPTY_VIEW, type JobEvent } from './research/useJob.ts';

const told = (events: [string, Record<string, unknown>?][]) =>
  events
    .map(
      ([type, data], index): JobEvent => ({
        id: index + 1,
        type,
        timestamp: '2026-11-15T00:00:00Z',
        ...(data && { data }),
      }),
    )
    .reduce(applyEvent, EMPTY_VIEW);

describe('a job told by its events', () => {
  const source = { title: 'T', url: 'https://a.example', snippet: 'S', dimension: 'A', index: 0 };

  it('fills its dimensions and adds those for gaps', () => {
    const view = told([
      ['scope_started', { query: 'q' }],
      ['scope_complete', { dimensions: ['A', 'B'] }],
      ['dimension_started', { dimension: 'A', index: 0 }],
      ['dimension_source', source],
      ['dimension_complete', { dimension: 'A', index: 0, summary: 's', keyFinding: 'k', sourceCount: 1 }],
      ['evaluate_started', { iteration: 1 }],
      ['evaluate_complete', { gaps: ['C'], hasGaps: true, iteration: 1 }],
    ]);
    expect(view.phase).toBe('research');
    expect(view.dimensions.map(({ name, state }) => `${name} ${state}`)).toEqual([
      'A done',
      'B planned',
      'C planned',
    ]);
    expect(view.dimensions[0]).toMatchObject({ keyFinding: 'k', sources: [{ title: 'T' }] });
    expect(view.now).toBe('Gaps to fill: C');
  });

  it('goes on after an end that was not the last', () => {
    const view = told([
      ['scope_complete', { dimensions: ['A'] }],
      ['dimension_started', { dimension: 'A', index: 0 }],
      ['dimension_source', source],
      ['error', { message: 'It broke.' }],
      ['done', {}],
      ['resumed', { phase: 'research' }],
      ['dimension_started', { dimension: 'A', index: 0 }],
    ]);
    expect(view.isOver).toBe(false);
    expect(view.dimensions[0]?.sources).toEqual([]);
    expect(view.activity.find(({ kind }) => kind === 'failed')?.words).toBe('It broke.');
  });

  it('takes no event twice', () => {
    const event = { id: 3, type: 'synthesis_delta', data: { text: 'x' }, timestamp: '' };
    const view = applyEvent(applyEvent(EMPTY_VIEW, event), event);
    expect(view.report).toBe('x');
  });
});

describe('citations', () => {
  const claim = (sentence: string, number: number | null, supported: boolean): Claim => ({
    sentence,
    number,
    supported,
    judge: 'rules',
    certain: true,
    score: 1,
    passageStart: null,
    passageEnd: null,
    sourceId: number,
    reason: '',
    passage: 'p',
  });
  const claims = [
    claim('The sea rises.', 1, true),
    claim('The sea rises.', 2, false),
    claim('It falls.', null, false),
  ];

  it('are tied to the claim whose sentence they follow', () => {
    const linked = linkMarks('- The sea rises [1][2?]. It falls [?].\n\n_[?] a sign_ and [7].', claims);
    expect(linked).toBe(
      '- The sea rises [\\[1\\]](#claim-0)[\\[2?\\]](#doubt-1). It falls [\\[?\\]](#doubt-2).\n\n_[?] a sign_ and [\\[7\\]](#source-7).',
    );
  });

  it('lead to the claim and its source, and have a name', () => {
    const sources = [{ id: 2, number: 2, title: 'Two', url: 'https://two.example' }];
    const target = targetOf('#doubt-1', claims, sources)!;
    expect(target).toMatchObject({ claim: claims[1], number: 2, source: { title: 'Two' } });
    expect(labelOf(target)).toBe('Source 2: Two, not supported');
    expect(labelOf({ ...target, claim: { ...target.claim!, judge: 'none' } })).toBe(
      'Source 2: Two, not checked',
    );
    expect(labelOf(targetOf('#doubt-2', claims, sources)!)).toBe('No source bears this out');
    expect(targetOf('#/library', claims, sources)).toBeUndefined();
  });
});

describe('a chat answer', () => {
  it('is read from lines that come in pieces', async () => {
    const lines =
      '0:"Hel"\n0:"lo [1]"\n2:[{"toolName":"searchWeb","args":{"query":"q"},"result":[{"number":1}]}]\nd:{}\n';
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start(controller) {
        for (const byte of new TextEncoder().encode(lines)) controller.enqueue(new Uint8Array([byte]));
        controller.close();
      },
    });
    let answer: Parameters<typeof withPart>[0] = { role: 'assistant', content: '' };
    for await (const part of readChat(body)) answer = withPart(answer, part);
    expect(answer).toMatchObject({ content: 'Hello [1]', searches: ['q'], sources: [{ number: 1 }] });
    expect(partsOf('e:{"message":"No."}')).toEqual([{ type: 'error', message: 'No.' }]);
    const [note] = partsOf('2:[{"type":"note","text":"Summarised"}]');
    expect(note && withPart({ role: 'assistant', content: '' }, note)).toMatchObject({ note: 'Summarised' });
    const chart = { type: 'bar', title: 'T', labels: ['a'], series: [{ name: 's', values: [1] }] };
    const [drawn] = partsOf(`2:[${JSON.stringify({ toolName: 'chart', args: chart, result: [{}] })}]`);
    expect(drawn && withPart({ role: 'assistant', content: '' }, drawn)).toEqual({
      role: 'assistant',
      content: '',
      charts: [chart],
    });
    expect(partsOf('2:[{"toolName":"chart","args":{},"result":[],"error":"Error: uneven"}]')).toEqual([]);
  });

  it('shows the sources it cites, and no list of its own', () => {
    const sources = [1, 2, 3].map((number) => ({
      number,
      title: `${number}`,
      url: `https://${number}.example`,
    }));
    expect(citedBy('Yes [2].', sources).map(({ number }) => number)).toEqual([2]);
    expect(citedBy('Yes.', sources)).toHaveLength(3);
    expect(withoutSourceList('Yes [1].\n[1] One (https://one.example)\n[2] Two (https://two.example)')).toBe(
      'Yes [1].',
    );
    expect(withoutSourceList('Yes.\n\n**Sources:**\n1. One: https://one.example')).toBe('Yes.');
    expect(withoutSourceList('1. First\n2. Second')).toBe('1. First\n2. Second');
  });
});

it('keeps its place in the address', () => {
  for (const route of [{ name: 'ask' }, { name: 'library' }, { name: 'research', id: 'a/b' }] as const)
    expect(routeOf(hrefOf(route))).toEqual(route);
  expect(routeOf('#/nonsense')).toEqual({ name: 'ask' });
});

it('words figures', () => {
  expect([59_000, 65_000, 3_720_000].map(durationWords)).toEqual(['59 s', '1 min 5 s', '1 h 2 min']);
  expect([999, 12_400, 1_500_000].map(countWords)).toEqual(['999', '12.4k', '1.50M']);
  expect([null, 0, 0.001, 1.234].map(costWords)).toEqual(['not known', '$0', '< $0.01', '$1.23']);
  const places = ['https://a.example/x', '/api/files/1', '/api/offline/factbook/pe'].map(placeOf);
  expect(places).toEqual(['a.example', 'Your file', 'Offline reference']);
  const untitled = [
    'https://a.example/docs/heat-pumps.html?x=1',
    'https://a.example/',
    '/api/files/1',
    'https://a.example/50%',
  ];
  expect(untitled.map((url) => titleOf({ title: url, url }))).toEqual([
    'Heat pumps',
    'a.example',
    'Your file',
    '50%',
  ]);
  expect(titleOf({ title: 'Heat pumps explained', url: 'https://a.example/x' })).toBe('Heat pumps explained');
});
