// The citation checker on every set of planted claims: what comparing signs settles alone, with the built-in model, with a
// good language model, and with one that says yes to everything. Run alone it prints the table of docs/benchmarks.md.
import {
  ClaimModel,
  heldOutSets,
  type Judged,
  JudgeRecord,
  judgedBy,
  judgedByRules,
  judgedWithModel,
  languageSets,
  type PlantedClaim,
  plantedClaims,
  readOpinions,
  replayOf,
  scoreOf,
  truthTeller,
  withControls,
  yesSayer,
} from '@trunkline/research/planted';
import { startModelServer } from '@trunkline/testing';
import type { BenchResult } from '../result.ts';

interface SetScore {
  name: string;
  claims: number;
  /** Of the claims that comparing words settles. */
  sure: { total: number; right: number };
  /** By judge: precision and recall of what is let through. */
  judges: Record<string, { precision: number; recall: number }>;
}

const SETS: Record<string, string> = {
  blind: 'blind: looked at with several weights since',
  'blind-2': 'blind again: by two authors, for these weights',
  'held-out': 'put freely',
  'held-out-close': 'in words of the page',
  'reports-a': 'of reports, by author A',
  'reports-b': 'of reports, by author B',
  'de-on-en': 'German on English',
  units: 'in other units, of nine languages',
};

type Own = Pick<ClaimModel, 'judge'>;

/** Each pair is judged once, however many measurements ask. */
function remembering(model: ClaimModel): Own {
  const known = new Map<string, ReturnType<ClaimModel['judge']>>();
  return {
    judge: async (pairs) =>
      (
        await Promise.all(
          pairs.map((pair) => {
            const key = JSON.stringify(pair);
            const opinion = known.get(key) ?? model.judge([pair]);
            known.set(key, opinion);
            return opinion;
          }),
        )
      ).flat(),
  };
}

async function scoreSet(name: string, set: string, own: Own): Promise<SetScore> {
  const claims = plantedClaims(set);
  const { sure } = scoreOf(judgedByRules(claims));
  const controlled = () => withControls(yesSayer, new JudgeRecord(), () => undefined);
  return {
    name: SETS[name] ?? name,
    claims: claims.length,
    sure,
    judges: {
      'comparison alone': rated(await judgedBy(claims, {})),
      'built-in model': rated(await judgedBy(claims, { own })),
      'good model': rated(await judgedWell(claims, set, own)),
      'yes-sayer': rated(await judgedBy(claims, { own, model: controlled() })),
      'yes-sayer, no control questions': rated(await judgedBy(claims, { own, model: yesSayer })),
    },
  };
}

/** By a large model whose answers were recorded; where there are none, by a judge that knows the truth. */
async function judgedWell(claims: PlantedClaim[], set: string, own: Own): Promise<Judged[]> {
  const opinions = readOpinions(set);
  if (opinions === undefined) return await judgedBy(claims, { own, model: truthTeller(claims) });
  const model = await startModelServer({ script: replayOf(opinions) });
  try {
    return await judgedWithModel(claims, model.url, own);
  } finally {
    await model.stop();
  }
}

function rated(judged: readonly Judged[]): { precision: number; recall: number } {
  const { precision, recall } = scoreOf(judged);
  return { precision, recall };
}

async function scoreSets(): Promise<SetScore[]> {
  const model = new ClaimModel();
  const own = remembering(model);
  const scores: SetScore[] = [];
  try {
    for (const set of heldOutSets()) scores.push(await scoreSet(set, set, own));
    for (const { language, set } of languageSets()) scores.push(await scoreSet(language, set, own));
  } finally {
    await model.stop();
  }
  return scores;
}

const GOALS: Record<string, string> = {
  'built-in model': '0.85',
  'good model': '0.97',
  'yes-sayer': '0.90',
};

export async function checker(): Promise<BenchResult[]> {
  return (await scoreSets()).flatMap(({ name, claims, sure, judges }) => [
    row(`citation checker, ${claims} claims ${name}, settled by comparing words`, sure.total / claims),
    ...(sure.total === 0
      ? []
      : [
          row(
            `citation checker, ${sure.total} of ${claims} claims ${name} settled so, right`,
            sure.right / sure.total,
            '0.98',
          ),
        ]),
    ...Object.entries(judges).flatMap(([judge, score]) =>
      Object.entries(score).map(([what, value]) =>
        row(`citation checker, ${claims} claims ${name}, ${judge}, ${what}`, value, GOALS[judge]),
      ),
    ),
  ]);
}

function row(name: string, ours: number, goal?: string): BenchResult {
  return {
    name,
    unit: 'share',
    ours,
    peers: {},
    ratio: 0,
    better: 'higher',
    ...(goal !== undefined && { goal }),
  };
}

function markdown(scores: readonly SetScore[]): string {
  const judges = Object.keys(scores[0]?.judges ?? {});
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [
    line(['Claims', 'Settled by comparing words, of them right', ...judges]),
    line(['---', '---', ...judges.map(() => '---')]),
    ...scores.map((score) =>
      line([
        `${score.claims} ${score.name}`,
        `${score.sure.total}, ${score.sure.right}`,
        ...judges.map((judge) => {
          const { precision = 0, recall = 0 } = score.judges[judge] ?? {};
          return `${precision.toFixed(2)} / ${recall.toFixed(2)}`;
        }),
      ]),
    ),
  ].join('\n');
}

if (import.meta.main) console.log(markdown(await scoreSets()));
