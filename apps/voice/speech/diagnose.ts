import type { Diagnosis } from '@trunkline/service';
import { checkWeights, type Weights, weights } from './weights.ts';

/** Looks whether the local speech models are installed and whole. */
export function diagnoseSpeech(): Promise<Diagnosis[]> {
  const purposes = [...new Set(weights.map(({ purpose }) => purpose))];
  return Promise.all(purposes.map((purpose) => diagnosePurpose(purpose)));
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
    const advice = 'Run "npm ci" again: the files differ from the ones that were proven.';
    return { subject, state: 'failed', words: `damaged: ${listed(damaged)}.`, advice };
  }
  const advice = 'Run "npm ci" without --omit=optional to install the local speech models.';
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
