import { expect, it } from 'vitest';
import { loadTurnModel } from '../../speech/ending/turn-model.ts';
import { loadOnnx } from '../../speech/weights.ts';
import { endpointingDelay } from './endpointing.ts';

// The runtime is an optional dependency.
const isInstalled = await loadOnnx().then(
  () => true,
  () => false,
);
let model: ReturnType<typeof loadTurnModel> | undefined;

it.runIf(isInstalled).each([
  ['en', 'I have to cancel the meeting because', 'my mother is visiting on Sunday.'],
  ['es', 'Quiero pedir una cita para', 'el lunes por la tarde.'],
  ['fr', 'Je voudrais réserver une table pour', 'deux personnes'],
  ['it', 'Vorrei prenotare un tavolo per', 'domani sera'],
  ['pt', 'Eu queria marcar uma consulta para', 'amanhã'],
])('the end-of-turn model waits in mid-sentence and not at its end: %s', async (language, begun, rest) => {
  model ??= loadTurnModel();
  const judge = await model;
  const delayAfter = async (text: string) => {
    const finished = await judge({ text, language });
    return endpointingDelay({ text, tone: 'level', usualPauseMs: 0, finished });
  };
  expect(await delayAfter(begun)).toBeGreaterThanOrEqual(1700);
  expect(await delayAfter(`${begun} ${rest}`)).toBe(300);
  expect(await delayAfter(`${begun} ${rest}`.toUpperCase())).toBe(300);
});
