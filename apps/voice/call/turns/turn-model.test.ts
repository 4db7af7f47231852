import { expect, it } from 'vitest';
import { loadTurnModel } from '../../speech/ending/turn-model.ts';
import { endpointingDelay } from './endpointing.ts';

it.each([
  ['en', 'I have to cancel the meeting because', 'my mother is visiting on Sunday.'],
  ['es', 'Quiero pedir una cita para', 'el lunes por la tarde.'],
  ['fr', 'Je voudrais réserver une table pour', 'deux personnes'],
  ['it', 'Vorrei prenotare un tavolo per', 'domani sera'],
  ['pt', 'Eu queria marcar uma consulta para', 'amanhã'],
])('the end-of-turn model waits in mid-sentence and not at its end: %s', async (language, begun, rest) => {
  const judge = await loadTurnModel();
  const delayAfter = async (text: string) => {
    const finished = await judge({ text, language });
    return endpointingDelay({ text, tone: 'level', usualPauseMs: 0, finished });
  };
  expect(await delayAfter(begun)).toBeGreaterThanOrEqual(1700);
  expect(await delayAfter(`${begun} ${rest}`)).toBe(300);
  expect(await delayAfter(`${begun} ${rest}`.toUpperCase())).toBe(300);
});
