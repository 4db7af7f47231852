import type { Diagnosis } from '@trunkline/service';
import { missingRuntimes, runtimes } from './runtimes.ts';
import { checkWeights, type Weights, weights } from './weights.ts';

const advice = 'Run "npm ci" without --omit=optional to install the local speech models.';

/** Looks whether the local speech models, and what runs them, are installed and whole. */
export async function diagnoseSpeech(): Promise<Diagnosis[]> {
  const purposes = [...new Set(weights.map(({ purpose }) => purpose))];
  const models = await Promise.all(purposes.map((purpose) => diagnosePurpose(purpose)));
  return [...models, diagnoseRuntimes()];
}

function diagnoseRuntimes(): Diagnosis {
  const subject = 'speech runtime';
  const missing = missingRuntimes();
  if (missing.length === 0)
    return { subject, state: 'ok', words: `${Object.keys(runtimes).join(', ')} installed.` };
  const words = missing.map((name) => `${name}, for ${runtimes[name]}`).join('; ');
  return { subject, state: 'warning', words: `not installed: ${words}.`, advice };
}

async function diagnosePurpose(purpose: Weights['purpose']): Promise<Diagnosis> {
  const entries = weights.filter((entry) => entry.purpose === purpose);
  const states = await Promise.all(
    entries.map(async (entry) => ({ entry, state: await checkWeights(entry) })),
  );
  const bad = states.filter(({ state }) => state !== 'ready');
  const subject = `speech ${purpose}`;
  if (bad.length === 0) return { subject, state: 'ok', words: `${listed(entries)} installed and whole.` };
  const damaged = bad.filter(({ state }) => state === 'damaged').map(({ entry }) => entry);
  if (damaged.length > 0) {
    const again = 'Run "npm ci" again: the files differ from the ones that were proven.';
    return { subject, state: 'failed', words: `damaged: ${listed(damaged)}.`, advice: again };
  }
  return {
    subject,
    state: 'warning',
    words: `not installed: ${listed(bad.map(({ entry }) => entry))}.`,
    advice,
  };
}

function listed(entries: readonly Weights[]): string {
  return entries.map(({ name }) => name).join(', ');
}
