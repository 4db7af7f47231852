import { FakeClock } from '@trunkline/testing';
import { describe, expect, it } from 'vitest';
import { languageOf } from '../languages/languages.ts';
import type { DeliveryPolicy } from './delivery.ts';
import { NotificationQueue } from './notification-queue.ts';

function open(language = 'en') {
  const clock = new FakeClock(0);
  const said: string[] = [];
  const spoken: string[] = [];
  const world = { quietFrom: 0, listening: false, muted: false, heard: true };
  const queue = new NotificationQueue({
    clock,
    language: () => languageOf(language),
    quietMs: () => (world.listening ? 0 : clock.now() - world.quietFrom),
    isListening: () => world.listening,
    isMuted: () => world.muted,
    announceResult: () => undefined,
    say(words, urgent, done) {
      said.push(`${clock.now()} ${urgent ? '! ' : ''}${words}`);
      clock.setTimer(1000, () => done(world.heard));
    },
  });
  const offer = (from: string, policy: DeliveryPolicy = 'next_silence') =>
    queue.offer({ from, text: 'x', policy, words: `${from} says x`, spoken: () => spoken.push(from) });
  return { clock, said, spoken, world, queue, offer };
}

describe('notifications in a call', () => {
  it.each([
    [
      'en',
      'I have two messages for you, from Ada and Bob. Do you want to hear them?',
      'no thanks',
      'yes please',
      'any messages?',
    ],
    [
      'es',
      'Tengo dos mensajes para usted, de Ada y Bob. ¿Quiere oírlos?',
      'no, ahora no',
      'sí, por favor',
      '¿Hay algún mensaje?',
    ],
    [
      'fr',
      "J'ai deux messages pour vous, de Ada et Bob. Voulez-vous les entendre ?",
      'non merci',
      "d'accord",
      'Quoi de neuf ?',
    ],
    [
      'it',
      'Ho due messaggi per lei, da Ada e Bob. Vuole ascoltarli?',
      'no, più tardi',
      'sì',
      'Ci sono dei messaggi?',
    ],
    [
      'pt',
      'Tenho duas mensagens para você, de Ada e Bob. Quer ouvir?',
      'não, depois',
      'quero sim',
      'Tem alguma mensagem?',
    ],
    ['hi', 'आपके लिए दो संदेश हैं, Ada और Bob से। क्या आप सुनना चाहेंगे?', 'नहीं', 'हाँ', 'क्या कोई संदेश है?'],
  ])('are asked about, answered and asked for in %s', async (language, question, no, yes, asking) => {
    for (const [answer, isTaken] of [
      [no, false],
      [yes, true],
    ] as const) {
      const { clock, said, spoken, queue, offer } = open(language);
      offer('Ada');
      offer('Bob');
      await clock.advanceBy(2500);
      expect(said.map((line) => line.replace(/^\d+ /, ''))).toEqual([question]);
      expect(queue.intercept(answer)).toBe(true);
      await clock.advanceBy(2500);
      expect(spoken).toEqual(isTaken ? ['Ada', 'Bob'] : []);
      expect(queue.intercept(asking)).toBe(!isTaken);
      queue.close();
    }
  });

  it('wait for 600 ms of quiet', async () => {
    const { clock, said, spoken, world, offer } = open();
    offer('Ada');
    await clock.advanceBy(400);
    world.quietFrom = clock.now();
    await clock.advanceBy(500);
    expect(said).toEqual([]);
    await clock.advanceBy(2000);
    expect([said, spoken]).toEqual([['1000 Ada says x'], ['Ada']]);
  });

  it('wait for ten seconds with a muted microphone', async () => {
    const { clock, said, world, offer } = open();
    world.muted = true;
    offer('Ada');
    await clock.advanceBy(9900);
    expect(said).toEqual([]);
    await clock.advanceBy(200);
    expect(said).toEqual(['10000 Ada says x']);
  });

  it('that are urgent wait only for the caller to finish', async () => {
    const { clock, said, world, offer } = open();
    world.listening = true;
    offer('Timer', 'now');
    await clock.advanceBy(3000);
    expect(said).toEqual([]);
    world.listening = false;
    await clock.advanceBy(100);
    expect(said).toEqual(['3100 ! Timer says x']);
  });

  it('that wait to be asked for do so for ten minutes, then for the next call', async () => {
    const { clock, said, spoken, queue, offer } = open();
    offer('Ada', 'when_asked');
    await clock.advanceBy(590_000);
    expect([said, queue.intercept('what is the weather')]).toEqual([[], false]);
    expect(queue.intercept('Any news?')).toBe(true);
    await clock.advanceBy(2000);
    expect(spoken).toEqual(['Ada']);
    offer('Ben', 'when_asked');
    await clock.advanceBy(601_000);
    expect([queue.intercept('any news'), spoken, clock.pendingTimers]).toEqual([false, ['Ada'], 0]);
  });

  it('are not pressed on a caller who does not answer the question about them', async () => {
    const { clock, said, queue, offer } = open();
    offer('Ada');
    offer('Ben');
    await clock.advanceBy(60_000);
    expect(said).toEqual(['600 I have two messages for you, from Ada and Ben. Do you want to hear them?']);
    expect(queue.intercept('Tell me the news.')).toBe(true);
    expect(said.slice(1)).toEqual(['60000 Ada says x', '60000 Ben says x']);
  });

  it('that were cut off are stored, and spoken when they are asked for', async () => {
    const { clock, said, spoken, world, queue, offer } = open();
    world.heard = false;
    offer('Ada');
    await clock.advanceBy(30_000);
    expect([said.length, spoken]).toEqual([1, []]);
    world.heard = true;
    expect(queue.intercept('Do you have any messages?')).toBe(true);
    await clock.advanceBy(2000);
    expect(spoken).toEqual(['Ada']);
  });

  it.each([
    ['Yes, please.', true],
    ['go ahead', true],
    ['No, not now.', true],
    ['What time is it?', false],
  ])('after the question %j is dealt with here: %s', async (answer, dealt) => {
    const { clock, queue, offer } = open();
    for (const from of ['A', 'B', 'C', 'D']) offer(from);
    await clock.advanceBy(3000);
    expect(queue.intercept(answer)).toBe(dealt);
  });

  it('stop with the call', async () => {
    const { clock, said, queue, offer } = open();
    offer('Ada');
    queue.close();
    offer('Ben');
    await clock.advanceBy(5000);
    expect([said, clock.pendingTimers]).toEqual([[], 0]);
  });
});
