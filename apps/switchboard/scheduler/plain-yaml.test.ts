import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readPlainYaml, withField } from './record.ts';

const pieces = [
  ...[
    'a',
    'b',
    'content',
    'null',
    'true',
    'no',
    '0',
    '12',
    '-3',
    '1.5',
    '1e3',
    '0x1f',
    '2026-03-02',
    '09:30',
  ],
  ...[
    ' ',
    '  ',
    '\n',
    '\n  ',
    '\n    ',
    ':',
    ': ',
    ' # ',
    '#',
    '"',
    "'",
    '\\',
    '\t',
    '\r\n',
    '---',
    '-',
    '- ',
  ],
  ...[
    '*',
    '&',
    '!',
    '|',
    '>',
    '{',
    '}',
    '[',
    ']',
    ',',
    '?',
    '%',
    '@',
    '`',
    '/',
    '(',
    'é',
    '€',
    '\u00a0',
    '\ufeff',
    '~',
  ],
];
const scalar = fc.array(fc.constantFrom(...pieces), { maxLength: 6 }).map((parts) => parts.join(''));
const key = fc.constantFrom('id', 'schedule', 'payload', 'content', 'a', 'true', '__proto__', 'constructor');
const row = fc
  .tuple(fc.constantFrom('', '', '  ', '  ', '    ', ' '), key, fc.constantFrom(': ', ':', ':  '), scalar)
  .map((parts) => parts.join(''));
const texts = fc
  .array(fc.oneof({ weight: 4, arbitrary: row }, scalar), { maxLength: 6 })
  .map((rows) => rows.join('\n'));

describe('readPlainYaml', () => {
  it('reads whatever it takes as the real parser does', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const found = readPlainYaml(text);
        if (found !== undefined) expect(found).toEqual(parse(text, { logLevel: 'silent' }));
      }),
      { numRuns: 20_000 },
    );
  });

  it('takes records as they are written', () => {
    const text = `id: daily-report
schedule: 0 9 * * 1-5
timezone: Europe/Berlin
topic: cron.daily-report
payload:
  content: "Write: the report"
  sender: 'ops'
enabled: true
jitterMs: 500
lastFired: 2026-03-02T09:00:00.000Z
`;
    expect(readPlainYaml(text)).toEqual(parse(text));
  });

  it.each([
    '',
    'a',
    'a:',
    'a: 1\na: 2',
    'a: {b: 1}',
    'a:\n- b',
    'a: b # c',
    'a: |\n  b',
    'a: *b',
    'a: b\n  c',
  ])('leaves %j to the real parser', (text) => {
    expect(readPlainYaml(text)).toBeUndefined();
  });
});

it('the time of a run is written in little time into a file of blank lines', () => {
  const text = `${'\n'.repeat(50_000)}"topic": tea\n`;
  expect(parse(withField(text, 'lastFired', '2026-03-02T09:00:00Z'))).toEqual({
    topic: 'tea',
    lastFired: '2026-03-02T09:00:00Z',
  });
});
