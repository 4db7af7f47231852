import { anonymous } from '@trunkline/identity';
import { defineTool, type Interruption, type Tool } from '@trunkline/llm';
import { errorMessage } from '@trunkline/std';
import { FakeClock, temporaryDirectory } from '@trunkline/testing';
import { z } from 'zod';
import type { CallSettings } from '../../call/call-components.ts';
import { type Conversations, createConversations } from '../../call/conversation.ts';
import { Memory } from '../../call/replying/history.ts';
import { DeliveryController, PendingStore } from '../../delivery/delivery-controller.ts';
import { LatencyLog } from '../../metrics/metrics.ts';
import { SessionRegistry } from '../../sessions/registry.ts';
import type { Skill, Verbosity } from '../../skills/skill.ts';
import { openVoiceDatabase } from '../../store/database.ts';
import type { CallRecorder } from '../../timeline/recorder.ts';
import type { Persona } from '../../turn/persona.ts';
import { defaultUser } from '../../users/user.ts';
import { SyntheticCaller } from './caller.suite.ts';
import { type ScriptedAnswer, scriptedModel } from './model.suite.ts';
import { scriptedVoices, type Voices } from './voices.suite.ts';

interface StageTool {
  takes: number;
  result: string;
  readOnly?: boolean;
  interruption?: Interruption | undefined;
}

export interface StageSetup {
  answers?: readonly ScriptedAnswer[];
  tools?: Record<string, StageTool>;
  verbosity?: Verbosity;
  /** The skill's. */
  lang?: string | undefined;
  behavior?: Skill['behavior'];
  settings?: Partial<CallSettings>;
  voices?: (clock: FakeClock) => Voices;
  /** Keeps the timelines of calls. */
  recorder?: CallRecorder;
  /** Instead of the stage's own persona. */
  persona?: () => Persona;
}

const tickMs = 10;
const turnsPerTick = 4;
const longestMs = 180_000;

/** The conversation side of the service, with callers, a model and voices that follow a script, on a clock of its own. */
export class Stage {
  readonly clock = new FakeClock(0);
  readonly voices: Voices;
  readonly sessions = new SessionRegistry();
  readonly latency = new LatencyLog();
  readonly memory: Memory;
  readonly pending: PendingStore;
  readonly delivery: DeliveryController;
  readonly model;
  readonly callers: SyntheticCaller[] = [];
  /** The states that calls have gone through. */
  readonly states: string[] = [];
  /** What was logged as a warning or worse. */
  readonly logged: string[] = [];
  /** Names of the tools that have run, with the time. */
  readonly ran: { name: string; at: number }[] = [];
  readonly #talks: Conversations;
  readonly #setup: StageSetup;
  readonly #directory = temporaryDirectory();
  readonly #database = openVoiceDatabase(this.#directory.path);

  constructor(setup: StageSetup = {}) {
    this.#setup = setup;
    this.voices = (setup.voices ?? scriptedVoices)(this.clock);
    this.memory = new Memory(this.#database);
    this.pending = new PendingStore(this.#database);
    this.delivery = new DeliveryController({
      sessions: this.sessions,
      pending: this.pending,
      summarize: async (text) => text,
      logger: this.#logger(),
    });
    this.model = scriptedModel(setup.answers ?? [{ text: 'Fine.' }], this.clock);
    this.#talks = createConversations({
      persona: setup.persona ?? (() => this.persona()),
      sessions: this.sessions,
      delivery: this.delivery,
      speech: this.voices.speech,
      memory: this.memory,
      latency: this.latency,
      summariser: () => this.model.model,
      settings: { halfDuplex: false, echoGuardMs: 300, speechTimeoutMs: 10_000, ...setup.settings },
      clock: this.clock,
      logger: this.#logger(),
      recorder: setup.recorder,
    });
  }

  get caller(): SyntheticCaller {
    const caller = this.callers.at(-1);
    if (caller === undefined) throw new Error('nobody has called');
    return caller;
  }

  /** Somebody calls, and the call is taken. */
  async call(): Promise<SyntheticCaller> {
    const caller = new SyntheticCaller(`call-${this.callers.length + 1}`, this.clock.now);
    this.callers.push(caller);
    this.#talks.begin(caller, defaultUser);
    await this.clock.advanceBy(0);
    return caller;
  }

  async tick(): Promise<void> {
    this.caller.pass();
    await this.voices.settle();
    await this.clock.advanceBy(tickMs);
    // What began in this moment ends in it, however many turns of the event loop it takes beside other work.
    for (let turn = 0; turn < turnsPerTick; turn += 1)
      await new Promise((resolve) => void setImmediate(resolve));
  }

  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += tickMs) await this.tick();
  }

  async say(text: string): Promise<void> {
    await this.sound(await this.voices.sounds.speech(text));
  }

  async sound(samples: Int16Array): Promise<void> {
    this.caller.say(samples);
    while (this.caller.isSaying) await this.tick();
  }

  /** Lets time pass until it holds. */
  async until(condition: () => boolean): Promise<void> {
    const end = this.clock.now() + longestMs;
    while (!condition()) {
      if (this.clock.now() > end) throw new Error(`nothing came of it:\n${this.caller.events.join('\n')}`);
      await this.tick();
    }
  }

  /** The types of what the page was told, in order. */
  types(): string[] {
    return this.caller.received.map(({ message }) => message.type);
  }

  /** All sentences that the caller was told, as one text. */
  heard(): string {
    return this.caller.heard();
  }

  /** From now on nothing can be written down, as on a full disk. */
  refuseWrites(): void {
    this.#database.exec('PRAGMA query_only = 1');
  }

  persona(): Persona {
    const { verbosity = 'brief', behavior = {}, tools = {}, lang } = this.#setup;
    return {
      user: defaultUser,
      principal: anonymous,
      skill: { ...plainSkill, behavior, lang },
      verbosity,
      instructions: 'You are a test.',
      tools: Object.entries(tools).map(([name, tool]) => this.#tool(name, tool)),
      model: this.model.model,
    };
  }

  async close(): Promise<void> {
    for (const caller of this.callers) caller.close('the test is over');
    await this.clock.advanceBy(0);
    this.#database.close();
    this.#directory.remove();
    await this.voices.close();
  }

  #tool(name: string, { takes, result, readOnly = false, interruption }: StageTool): Tool {
    return defineTool({
      name,
      description: name,
      effects: readOnly ? ['reads'] : ['writes'],
      ...(interruption && { interruption }),
      input: z.object({}),
      execute: async () => {
        this.ran.push({ name, at: this.clock.now() });
        await new Promise<void>((resolve) => void this.clock.setTimer(takes, resolve));
        return result;
      },
    }) as Tool;
  }

  #logger() {
    const drop = () => undefined;
    const note = (first: object | string, message = '') => {
      const cause = typeof first === 'object' && 'err' in first ? `: ${errorMessage(first.err)}` : '';
      this.logged.push(typeof first === 'string' ? first : `${message}${cause}`);
    };
    const debug = (fields: object | string) => {
      if (typeof fields === 'object' && 'to' in fields) this.states.push(String(fields.to));
    };
    const logger = { debug, info: drop, warn: note, error: note, child: () => logger };
    return logger;
  }
}

const plainSkill: Skill = {
  slug: 'default',
  name: 'Default',
  description: '',
  systemPrompt: 'You are a test.',
  behavior: {},
  llm: {},
  viz: {},
};
