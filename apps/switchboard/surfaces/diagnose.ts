import type { Diagnosis } from '@trunkline/service';
import { errorMessage } from '@trunkline/std';
import type { SwitchboardOptions } from '../options.ts';
import { surfaces } from './list.ts';
import type { Surface } from './surface.ts';

const callMs = 10_000;

/** Asks every configured surface who we are; names those that are off. */
export async function diagnoseSurfaces(options: SwitchboardOptions): Promise<Diagnosis[]> {
  const checks = surfaces.map((surface: Surface) => ({ surface, ask: surface.diagnose(options) }));
  const on = checks
    .map(({ surface, ask }) => ask && diagnose(surface, ask))
    .filter((check) => check !== undefined);
  const off = checks.flatMap(({ surface: { name, variables }, ask }) =>
    ask ? [] : [`${name} (${variables})`],
  );
  const found = await Promise.all(on);
  if (off.length === 0) return found;
  return [...found, { subject: 'surfaces', state: 'ok', words: `off: ${off.join(', ')}.` }];
}

async function diagnose(
  { name, variables }: Surface,
  ask: (signal: AbortSignal) => Promise<string>,
): Promise<Diagnosis> {
  const subject = `surface ${name}`;
  try {
    return { subject, state: 'ok', words: `answers: ${await ask(AbortSignal.timeout(callMs))}.` };
  } catch (error) {
    const words = errorMessage(error);
    return { subject, state: 'failed', words, advice: `Check ${variables}.` };
  }
}
