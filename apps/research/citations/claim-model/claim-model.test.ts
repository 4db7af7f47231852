import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { createWordPiece } from '@trunkline/tools/word-piece';
import { afterAll, expect, it } from 'vitest';
import { prepareDocument } from '../document.ts';
import { settleVerdicts } from '../second-judge.ts';
import { ClaimModel } from './claim-model.ts';

const folder = join(import.meta.dirname, '../../models/claim-judge');
const words = createWordPiece(readFileSync(join(folder, 'vocabulary.txt'), 'utf8').split('\n'));
const model = new ClaimModel();
afterAll(() => model.stop());

// What the Rust library `tokenizers` gives for these texts with the same file.
it.each<[string, number[]]>([
  [
    'The Channel Tunnel is 50.45 km long; 37.9 km run under the sea.',
    [
      1996, 3149, 5234, 2003, 2753, 1012, 3429, 2463, 2146, 1025, 4261, 1012, 1023, 2463, 2448, 2104, 1996,
      2712, 1012,
    ],
  ],
  [
    'Caf\u00e9 Z\u00fcrich\u2019s na\u00efve r\u00e9sum\u00e9 \u2014 \u201c50 %\u201d of \u00a34.65bn (2019\u201320)!',
    [
      7668, 10204, 1521, 1055, 15743, 13746, 1517, 1523, 2753, 1003, 1524, 1997, 1069, 2549, 1012, 3515,
      24700, 1006, 10476, 1516, 2322, 1007, 999,
    ],
  ],
  [
    "don't re-enter: e-mail foo_bar@example.org, $1,234.56 + 7 < 8 ~ `x` | y^2",
    [
      2123, 1005, 1056, 2128, 1011, 4607, 1024, 1041, 1011, 5653, 29379, 1035, 3347, 1030, 2742, 1012, 8917,
      1010, 1002, 1015, 1010, 22018, 1012, 5179, 1009, 1021, 1026, 1022, 1066, 1036, 1060, 1036, 1064, 1061,
      1034, 1016,
    ],
  ],
  [
    '\u5317\u4eac\u57282008\u5e74\u4e3e\u529e\u4e86\u5965\u8fd0\u4f1a\u3002Tokyo \u6771\u4eac\u30bf\u30ef\u30fc',
    [1781, 1755, 100, 2263, 1840, 100, 100, 100, 100, 100, 1763, 1636, 5522, 1879, 1755, 1709, 30262, 30265],
  ],
  [
    '\u0e1b\u0e23\u0e30\u0e40\u0e17\u0e28\u0e44\u0e17\u0e22 \u0661\u0662\u0663 \u0395\u03bb\u03bb\u03ac\u03b4\u03b1 \u03a9\u03bc\u03ad\u03b3\u03b1 \u0130stanbul \u1e9e \ufb01ne',
    [
      100, 100, 1159, 29727, 29727, 14608, 29722, 14608, 1179, 29728, 29723, 29721, 14608, 9960, 1096, 1984,
      2638,
    ],
  ],
  ['a\u200bb\u00adc\u0000d\ufffde\tf\ng', [5925, 3207, 1042, 1043]],
  [
    'emoji \ud83d\ude00 and \ud83d\udc69\u200d\ud83d\udd2c \u00bd \u00b2 \u21165 \u2122',
    [7861, 29147, 2072, 100, 1998, 100, 1092, 1082, 1578, 2629, 1580],
  ],
  [
    '\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e and Vi\u1ec7t Nam, \u0141\u00f3d\u017a, \u00c5ngstr\u00f6m',
    [
      1327, 29867, 29874, 29859, 1325, 29863, 29877, 29868, 29876, 1998, 19710, 15125, 1010, 17814, 1010,
      17076, 15687,
    ],
  ],
])('reads %j as the library does that the model was trained with', (text, ids) => {
  expect(words.encode(text)).toEqual(ids);
});

const MILL =
  'The mill at Kerne was sold in 1931 to the Hobbs family, who ran it for ten years. Its wheel was removed in 1942.';
const open = (claim: string) => ({
  claim,
  document: prepareDocument('A mill', MILL),
  verdict: {
    supported: false,
    certain: false,
    judge: 'none' as const,
    score: 0,
    reason: '',
    passage: undefined,
  },
});

it('judges what comparing words leaves open, and is not sure of it alone', async () => {
  const verdicts = await settleVerdicts(
    [
      open('In 1931 the mill at Kerne was sold.'),
      open('The mill at Kerne was never sold to the Hobbs family.'),
    ],
    { own: model },
  );
  expect(verdicts).toMatchObject([
    { supported: true, judge: 'own', certain: false, reason: '' },
    { supported: false, judge: 'own', certain: false, reason: expect.stringContaining('the page') },
  ]);
});

// Another processor rounds int8 otherwise: half of the false claims lie this near to the model's least probability.
it.each([0.0158, 0.0165, 0.0175, 0.11])(
  'at %d marks a claim, and gives way to a language model',
  async (yes) => {
    const own = { judge: async () => [{ yes, no: 0.5 - yes, unsaid: 0.5 }] };
    const claim = 'In 1931 the mill at Kerne was sold.';
    expect(await settleVerdicts([open(claim)], { own })).toMatchObject([{ judge: 'own', supported: false }]);
    const model = async () => [{ finding: 'supported' as const, words: 'was sold in 1931' }];
    const [verdict] = await settleVerdicts([open(claim)], { own, model });
    expect(verdict).toMatchObject({ judge: 'model', supported: true, certain: false });
  },
);

it('leaves what is not English to others', async () => {
  const verdicts = await settleVerdicts([open('Die Mühle wurde von der Familie Hobbs gekauft.')], {
    own: model,
  });
  expect(verdicts).toMatchObject([{ judge: 'none', certain: false }]);
});

// Cut off in a thread, its native code ended the whole process.
it('survives that nobody waits for its opinion any more, wherever it is', async () => {
  const pair = { claim: 'The mill at Kerne was sold in 1931.', passage: MILL.repeat(6) };
  const pairs = Array.from({ length: 16 }, () => pair);
  const own = new ClaimModel();
  for (const milliseconds of [0, 10, 20, 40]) {
    await own.judge([pair]);
    const stop = new AbortController();
    const judged = own.judge(pairs, stop.signal);
    setTimeout(() => stop.abort(new Error('enough')), milliseconds);
    await expect(judged).rejects.toThrow('enough');
  }
  const [opinion] = await own.judge([pair]);
  expect(opinion?.yes).toBeGreaterThan(0.5);
  const last = own.judge(pairs);
  await own.stop();
  expect(await last).toContain(undefined);
});

it('gives no opinion where it is switched off, not installed or broken', async () => {
  const directory = temporaryDirectory();
  writeFileSync(join(directory.path, 'vocabulary.txt'), 'the\n');
  const logged: string[] = [];
  const broken = new ClaimModel({
    folder: directory.path,
    logger: { warn: (_, message) => logged.push(message) },
  });
  const missing = new ClaimModel({ folder: join(directory.path, 'none') });
  for (const none of [new ClaimModel({ isOn: false }), missing, broken])
    expect(await none.judge([{ claim: 'a', passage: 'b' }])).toEqual([undefined]);
  expect(logged).toHaveLength(1);
  await broken.stop();
  directory.remove();
});
