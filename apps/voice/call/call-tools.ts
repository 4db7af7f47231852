import { defineTool, type Tool } from '@trunkline/llm';
import { z } from 'zod';
import type { Persona } from '../turn/persona.ts';
import type { TurnControllerDeps } from './turn-controller-deps.ts';
import { comesBack } from './turns/interruption.ts';

/** Whether the call is on hold; the page shows it. */
export class CallHold {
  readonly #deps: Pick<TurnControllerDeps, 'send' | 'clock' | 'language'>;
  #isOn = false;
  #endedAt = -Infinity;

  constructor(deps: Pick<TurnControllerDeps, 'send' | 'clock' | 'language'>) {
    this.#deps = deps;
  }

  /** When the last one ended; the silence of a hold is nobody's. */
  get endedAt(): number {
    return this.#endedAt;
  }

  /** The caller talks to somebody else. */
  get isOn(): boolean {
    return this.#isOn;
  }

  /** The caller has said this: who comes back ends the hold. */
  onWords(text: string): void {
    if (comesBack(text, this.#deps.language())) this.set(false);
  }

  set(isOn: boolean): void {
    if (this.#isOn === isOn) return;
    this.#isOn = isOn;
    if (!isOn) this.#endedAt = this.#deps.clock.now();
    this.#deps.send({ type: 'server-message', data: { type: isOn ? 'call-held' : 'call-resumed' } });
  }
}

/** Ends the call once the bot has said goodbye, unless the caller says more. */
export class Farewell {
  readonly #deps: Pick<TurnControllerDeps, 'decisions' | 'hangUp'>;
  /** The call ends with the bot's turn. */
  isDue = false;

  constructor(deps: Pick<TurnControllerDeps, 'decisions' | 'hangUp'>) {
    this.#deps = deps;
  }

  hangUpIf(isSaid: boolean): void {
    if (!this.isDue || !isSaid) return;
    this.isDue = false;
    this.#deps.decisions.note('hang-up', 'the farewell was said');
    this.#deps.hangUp();
  }
}

interface CallControls {
  /** Ends the call after the bot's next words. */
  end(): void;
  /** Answers nothing until the caller comes back. */
  hold(): void;
}

/** What a model can do with the call itself, as far as the skill allows it. */
export function withCallTools(persona: Persona, { end, hold }: CallControls): Persona {
  const callTools: Tool[] = [
    defineTool({
      name: 'end_call',
      description:
        'Ends the call after your next words. Use it only when the caller says goodbye or asks you to hang up; then say a short farewell.',
      effects: ['reads'],
      input: z.object({}),
      execute: async () => {
        end();
        return 'The call ends after your next words. Say a short farewell now.';
      },
    }),
    defineTool({
      name: 'hold_call',
      description:
        'Puts the call on hold: you answer nothing until the caller says that they are back. Use it only when the caller asks you to wait or to hold; then say in a few words that you wait.',
      effects: ['reads'],
      input: z.object({}),
      execute: async () => {
        hold();
        return 'The call is on hold after your next words. Say in a few words that you wait.';
      },
    }),
  ];
  const { tools: allowed } = persona.skill;
  const usable = callTools.filter(({ name }) => allowed === undefined || allowed.includes(name));
  return { ...persona, tools: [...persona.tools, ...usable] };
}
