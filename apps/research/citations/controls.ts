import { BoundedMap } from '@trunkline/std';
import { sentenceSpans } from '../text/sentences.ts';
import { callOf } from './calls.ts';
import { absentFigures, prepareDocument } from './document.ts';
import type { Opinion, Question, SecondJudge } from './second-judge.ts';
import { readingsOf, statementOf } from './statement.ts';

/** Questions for which one is asked whose answer is known. */
const QUESTIONS_PER_CONTROL = 7;
/** Controls that count, the newest. */
const REMEMBERED = 20;
/** A judge may be wrong about one control in so many. */
const TOLERATED = 10;

/** How a model did on questions whose answer is known. */
export class JudgeRecord {
  readonly #isWrong = new BoundedMap<string, boolean>(REMEMBERED);

  note({ claim, excerpt }: Question, isWrong: boolean): void {
    this.#isWrong.set(`${claim}\n${excerpt}`, isWrong);
  }

  /** False once it called too many claims supported that are known to be false. */
  get isBelieved(): boolean {
    const wrong = [...this.#isWrong.values()].filter(Boolean).length;
    return wrong * TOLERATED <= this.#isWrong.size;
  }
}

const NOT_BELIEVED =
  'it called claims supported that were made to be false, so what it calls supported does not count';

/**
 * Some models say yes to everything. Among the questions are some about claims that were made to be false; of a judge
 * that calls such claims supported nothing counts but its "contradicted" and "absent": neither "supported" nor "topic",
 * as both let a claim pass.
 */
export function withControls(
  judge: SecondJudge,
  record: JudgeRecord,
  onProblem: (words: string) => void,
): SecondJudge {
  return async (questions) => {
    const used = new Set<string>();
    const asked = questions.flatMap((question, at) => {
      const isTurn = at % QUESTIONS_PER_CONTROL === QUESTIONS_PER_CONTROL - 1 || at === questions.length - 1;
      const near = questions.slice(Math.max(0, at - QUESTIONS_PER_CONTROL + 1), at + 1);
      const control = isTurn ? controlAmong(near, used) : undefined;
      return [{ question, isControl: false }, ...(control ? [{ question: control, isControl: true }] : [])];
    });
    const opinions = await judge(asked.map(({ question }) => question));
    const given: (Opinion | undefined)[] = [];
    for (const [at, { question, isControl }] of asked.entries()) {
      const opinion = opinions[at];
      if (!isControl) given.push(opinion);
      else if (opinion !== undefined) record.note(question, opinion.finding === 'supported');
    }
    if (record.isBelieved) return given;
    onProblem(NOT_BELIEVED);
    return given.map((opinion) =>
      opinion?.finding === 'supported' || opinion?.isTopic ? undefined : opinion,
    );
  };
}

/** One that was not asked yet, about the page of one of these questions, the last first; each text is put with one at least. */
function controlAmong(questions: readonly Question[], used: Set<string>): Question | undefined {
  for (const { title, excerpt } of questions.toReversed()) {
    for (const control of controlsFor({ title, excerpt })) {
      if (used.has(control.claim)) continue;
      used.add(control.claim);
      return control;
    }
  }
  const [first] = questions;
  if (first === undefined || used.size > 0) return undefined;
  used.add(UNSAID);
  return { ...first, claim: UNSAID };
}

/** For pages without a figure: easy, but whoever says yes to everything says yes to this too. */
const UNSAID = 'The text was first printed in Ulan Bator by Edgar Varnholt in 1871.';

const SHORTEST = 10;
const LONGEST = 300;

/** Sentences of the excerpt with a figure changed to one that the excerpt does not have; none where it has no figure. */
export function* controlsFor({ title, excerpt }: Pick<Question, 'title' | 'excerpt'>): Generator<Question> {
  const { inventory } = prepareDocument(title, excerpt);
  for (const { text } of sentenceSpans(excerpt)) {
    // The judge is shown it as a claim: what tells its reader to do something must not get there.
    if (text.length < SHORTEST || text.length > LONGEST || callOf(text) !== undefined) continue;
    for (const { text: figure } of statementOf(text).figures) {
      const claim = text.replace(figure, changed(figure)).replace(/\s+/g, ' ');
      if (absentFigures(statementOf(claim), inventory).length === 0) continue;
      yield { claim, title, excerpt };
      break;
    }
  }
}

/** The figure with one digit changed, in whatever script: of a year the third, of others the first. */
function changed(figure: string): string {
  const at = /^\p{Nd}{4}$/u.test(figure) ? 2 : 0;
  return [...figure]
    .map((sign, place) => {
      if (place !== at || !/\p{Nd}/u.test(sign)) return sign;
      const [value = 0] = readingsOf(sign);
      return String.fromCodePoint((sign.codePointAt(0) ?? 0) + (value >= 5 ? -4 : 4));
    })
    .join('');
}
