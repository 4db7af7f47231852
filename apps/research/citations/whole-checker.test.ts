import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startModelServer, temporaryDirectory } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  heldOutSets,
  judgedWithModel,
  opinionsIn,
  plantedClaims,
  type RecordedOpinion,
  readOpinions,
  replayOf,
  scoreOf,
  writeOpinions,
} from '../fixtures/planted/planted.ts';

const SET = `# A mill
The mill at Kerne was sold in 1931. Its wheel has not turned since.
+ Kerne's mill changed hands in the thirties.
+ The mill at Kerne was sold in 1931.
- The wheel is turning to this day.
`;
const FREELY = "Kerne's mill changed hands in the thirties.";
const AGAINST = 'The wheel is turning to this day.';
const opinions: RecordedOpinion[] = [
  { claim: FREELY, title: 'A mill', verdict: 'supported', words: 'was sold in 1931' },
  { claim: AGAINST, title: 'A mill', verdict: 'contradicted', words: 'has not turned since' },
];

let directory: ReturnType<typeof temporaryDirectory>;
const set = () => join(directory.path, 'mill.txt');
beforeEach(() => {
  directory = temporaryDirectory();
  writeFileSync(set(), SET);
});
afterEach(() => directory.remove());

/** What the checker finds with a model that answers so, and the prompts that it was sent. */
async function check(of: string, script: ReturnType<typeof replayOf>) {
  const model = await startModelServer({ script });
  try {
    const judged = await judgedWithModel(plantedClaims(of), model.url);
    return { judged, prompts: model.chats().map(({ messages }) => String(messages[1]?.content)) };
  } finally {
    await model.stop();
  }
}

const replay = (of: string, recorded: readonly RecordedOpinion[]) => check(of, replayOf(recorded));

describe('the whole checker on planted claims', () => {
  it('puts what the rules doubt to the model, and takes what was recorded of it', async () => {
    const { judged, prompts } = await replay(set(), opinions);
    expect(prompts.join('\n').match(/^Claim .*$/gm)).toHaveLength(2);
    expect(
      Object.fromEntries(
        judged.map(({ planted, verdict }) => [planted.claim, `${verdict.supported} by ${verdict.judge}`]),
      ),
    ).toEqual({
      [FREELY]: 'true by model',
      'The mill at Kerne was sold in 1931.': 'true by rules',
      [AGAINST]: 'false by model',
    });
    expect(scoreOf(judged)).toMatchObject({ total: 3, precision: 1, recall: 1 });
  });

  it('is measured with the answers as they are, right or wrong', async () => {
    const wrong = { ...opinions[0]!, verdict: 'not_in_passage' as const, words: '' };
    const { judged } = await replay(set(), [wrong, opinions[1]!]);
    expect(scoreOf(judged)).toMatchObject({ precision: 1, recall: 0.5 });
  });

  it('is not measured when an opinion is missing', async () => {
    await expect(replay(set(), opinions.slice(1))).rejects.toThrow(
      /no opinion was recorded on "Kerne's mill/,
    );
  });

  it('is asked in an order that does not tell which claims are true', async () => {
    const { judged } = await check('held-out', () => JSON.stringify({ verdicts: [] }));
    const pages = [...Map.groupBy(judged, ({ planted }) => planted.title).values()];
    const trueFirst = pages.filter(([first]) => first?.planted.isTrue).length;
    expect(trueFirst).toBeGreaterThan(2);
    expect(trueFirst).toBeLessThan(pages.length - 2);
  });

  it('refuses a claim that a report would not check', async () => {
    writeFileSync(set(), '# A mill\nThe mill was sold.\n+ Was the mill sold?\n');
    await expect(replay(set(), opinions)).rejects.toThrow(/one sentence.*Was the mill sold/);
  });
});

describe('recorded opinions', () => {
  it('are read from a prompt and its answer, and lie beside their set', async () => {
    const { prompts } = await replay(set(), opinions);
    const asked = prompts[0]!.match(/(?<=^Claim \d \(passage 1\): ).*$/gm)!;
    const verdicts = asked.map((claim, index) => {
      const { verdict, words } = opinions.find((opinion) => opinion.claim === claim)!;
      return { claim: index + 1, verdict, words };
    });
    expect(readOpinions(set())).toBeUndefined();
    writeOpinions(set(), opinionsIn(prompts[0]!, { verdicts }));
    expect(readOpinions(set())).toEqual(expect.arrayContaining(opinions));
    expect(() => opinionsIn(prompts[0]!, { verdicts: verdicts.slice(1) })).toThrow(/1 verdicts on 2 claims/);
    const twice = [verdicts[0]!, verdicts[0]!];
    expect(() => opinionsIn(prompts[0]!, { verdicts: twice })).toThrow(/no verdict on claim 2/);
  });
});

const GOAL = 0.95;
const recorded = heldOutSets().flatMap((name) => {
  const found = readOpinions(name);
  return found === undefined ? [] : [{ name, found }];
});

it.each(recorded)('with the answers recorded for $name, as good as is wanted', async ({ name, found }) => {
  const { precision, recall } = scoreOf((await replay(name, found)).judged);
  expect(precision).toBeGreaterThanOrEqual(GOAL);
  expect(recall).toBeGreaterThanOrEqual(GOAL);
});
