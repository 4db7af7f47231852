import { defineTool } from '@trunkline/llm';
import { FakeClock, temporaryDirectory } from '@trunkline/testing';
import { z } from 'zod';
import { createConversations } from '../../call/conversation.ts';
import { Memory } from '../../call/replying/memory.ts';
import { DeliveryController } from '../../delivery/controller.ts';
import { Stash } from '../../delivery/stash.ts';
import { LatencyLog } from '../../metrics/latency.ts';
import { SessionRegistry } from '../../sessions/registry.ts';
import { openVoiceDatabase } from '../../store/database.ts';
import type { Persona } from '../../turn/persona.ts';
import { defaultUser } from '../../users/user.ts';
import { SyntheticCaller } from './caller.suite.ts';
import type { Step, VoiceCase } from './case.suite.ts';
import { scriptedModel } from './model.suite.ts';
import { Transcript } from './transcript.suite.ts';
import type { Voices } from './voices.suite.ts';

const tickMs = 10;
/** After the last step the call goes on until nothing has happened for this long. */
const calmMs = 4000;
const longestMs = 180_000;

export interface Outcome {
  conversation: string[];
  /** From the end of the caller's words to the first sound of the answer; the longest. */
  silence: number;
  pauses: number;
  thrownAway: number;
  remembered: string[];
  waiting: number;
  /** Timers that nobody has cancelled after the last call was over. */
  timers: number;
  events: string[];
  latency: ReturnType<LatencyLog['summary']>;
  prompts: unknown[];
  /** What was played, for those who listen to it again. */
  callers: SyntheticCaller[];
}

const silentLogger = () => {
  const drop = () => undefined;
  const logger = { debug: drop, info: drop, warn: drop, error: drop, child: () => logger };
  return logger;
};

/** Runs one case on a clock of its own. */
export async function runCase(test: VoiceCase, open: (clock: FakeClock) => Voices): Promise<Outcome> {
  const clock = new FakeClock(0);
  const voices = open(clock);
  const { path, remove } = temporaryDirectory();
  const database = openVoiceDatabase(path);
  try {
    return await new Run(test, clock, voices, database).play();
  } finally {
    database.close();
    remove();
    await voices.close();
  }
}

class Run {
  readonly #test: VoiceCase;
  readonly #clock: FakeClock;
  readonly #voices: Voices;
  readonly #sessions = new SessionRegistry();
  readonly #latency = new LatencyLog();
  readonly #transcript = new Transcript();
  readonly #callers: SyntheticCaller[] = [];
  readonly #events: string[] = [];
  readonly #memory: Memory;
  readonly #stash: Stash;
  readonly #delivery: DeliveryController;
  readonly #model;
  readonly #talks;
  #silence = 0;
  #saidUntil: number | undefined;

  constructor(
    test: VoiceCase,
    clock: FakeClock,
    voices: Voices,
    database: ReturnType<typeof openVoiceDatabase>,
  ) {
    this.#test = test;
    this.#clock = clock;
    this.#voices = voices;
    this.#memory = new Memory(database);
    this.#stash = new Stash(database);
    this.#delivery = new DeliveryController(this.#sessions, this.#stash);
    this.#model = scriptedModel(test.model, clock);
    this.#talks = createConversations({
      persona: () => this.#persona(),
      sessions: this.#sessions,
      speech: voices.speech,
      memory: this.#memory,
      latency: this.#latency,
      summariser: () => this.#model.model,
      settings: { halfDuplex: test.half_duplex, echoGuardMs: 300, voicePatienceMs: 10_000 },
      clock,
      logger: silentLogger(),
    });
  }

  async play(): Promise<Outcome> {
    await this.#callAgain();
    for (const step of this.#test.caller) await this.#take(step);
    await this.#untilCalm();
    this.#caller.close('the case is over');
    await this.#clock.advanceBy(0);
    return {
      conversation: this.#transcript.end(),
      silence: this.#silence,
      pauses: this.#callers.reduce((sum, { speaker }) => sum + speaker.holds, 0),
      thrownAway: this.#model.abandoned(),
      remembered: this.#remembered(),
      waiting: this.#stash.waitingFor(defaultUser.id).length,
      timers: this.#clock.pendingTimers,
      events: this.#events,
      latency: this.#latency.summary(),
      prompts: this.#model.prompts,
      callers: this.#callers,
    };
  }

  get #caller(): SyntheticCaller {
    const caller = this.#callers.at(-1);
    if (caller === undefined) throw new Error('nobody has called');
    return caller;
  }

  async #callAgain(): Promise<void> {
    const caller = new SyntheticCaller(`call-${this.#callers.length + 1}`, this.#clock.now);
    caller.echo = this.#test.echo;
    const send = caller.send.bind(caller);
    caller.send = (message) => {
      this.#transcript.add(message);
      this.#events.push(
        `${Math.round(this.#clock.now())} ${message.type} ${JSON.stringify(message.data ?? '')}`,
      );
      send(message);
    };
    this.#callers.push(caller);
    this.#talks.begin(caller, defaultUser);
    await this.#clock.advanceBy(0);
    caller.tell({ type: 'client-ready' });
  }

  async #take(step: Step): Promise<void> {
    const { sounds } = this.#voices;
    if ('say' in step) await this.#say(await sounds.speech(step.say), true);
    else if ('cough' in step) await this.#say(sounds.cough(step.cough), false);
    else if ('noise' in step) await this.#say(sounds.noise(step.noise), false);
    else if ('pause' in step) await this.#pass(step.pause);
    else if ('hear' in step) await this.#hear(step.hear);
    else if ('listen' in step) await this.#untilQuiet();
    else if ('mute' in step) this.#caller.muted = step.mute;
    else if ('write' in step) this.#caller.tell({ type: 'send-text', data: { content: step.write } });
    else if ('news' in step) this.#delivery.deliver(defaultUser.id, step.news);
    else if ('hang_up' in step) this.#caller.close('hung up');
    else await this.#callAgain();
  }

  async #say(samples: Int16Array, words: boolean): Promise<void> {
    this.#caller.say(samples);
    while (this.#caller.isSaying) await this.#tick();
    if (words) this.#saidUntil = this.#clock.now();
  }

  async #pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += tickMs) await this.#tick();
  }

  /** Until the other side has spoken for so long, from now on. */
  async #hear(ms: number): Promise<void> {
    let heard = 0;
    await this.#until(() => {
      heard += this.#caller.speaker.sounding ? tickMs : 0;
      return heard >= ms;
    });
  }

  async #untilQuiet(): Promise<void> {
    await this.#until(() => this.#caller.speaker.sounding);
    let quiet = 0;
    await this.#until(() => {
      quiet = this.#caller.speaker.sounding ? 0 : quiet + tickMs;
      return quiet >= 300;
    });
  }

  async #untilCalm(): Promise<void> {
    let [calm, count] = [0, this.#events.length];
    await this.#until(() => {
      const isBusy = this.#events.length > count || this.#caller.speaker.sounding;
      [calm, count] = [isBusy ? 0 : calm + tickMs, this.#events.length];
      return calm >= calmMs || this.#caller.isClosed;
    });
  }

  async #until(condition: () => boolean): Promise<void> {
    const end = this.#clock.now() + longestMs;
    while (!condition()) {
      if (this.#clock.now() > end) throw new Error(`nothing came of it:\n${this.#events.join('\n')}`);
      await this.#tick();
    }
  }

  async #tick(): Promise<void> {
    this.#caller.pass();
    await this.#voices.settle();
    await this.#clock.advanceBy(tickMs);
    if (this.#saidUntil === undefined || !this.#caller.speaker.sounding) return;
    this.#silence = Math.max(this.#silence, this.#clock.now() - this.#saidUntil);
    this.#saidUntil = undefined;
  }

  #remembered(): string[] {
    const messages = this.#memory.recall(defaultUser.id, 'default');
    return messages.flatMap(({ role, content }) => {
      if (role !== 'assistant') return [];
      const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content;
      return parts.flatMap((part) => (part.type === 'text' ? part.text : []));
    });
  }

  #persona(): Persona {
    const { verbosity, behavior, tools } = this.#test;
    const skill = {
      slug: 'default',
      name: 'Default',
      description: '',
      systemPrompt: 'You are a test.',
      speechBackend: undefined,
      voice: undefined,
      lang: undefined,
      temperature: undefined,
      maxTokens: undefined,
      verbosity: undefined,
      tools: undefined,
      delegates: undefined,
      behavior,
      llm: {},
      viz: {},
    };
    return {
      user: defaultUser,
      skill,
      verbosity,
      instructions: skill.systemPrompt,
      tools: Object.entries(tools).map(([name, tool]) => this.#tool(name, tool)),
      model: this.#model.model,
    };
  }

  #tool(name: string, { takes, result }: { takes: number; result: string }) {
    return defineTool({
      name,
      description: name,
      input: z.object({}),
      execute: async () => {
        this.#events.push(`${Math.round(this.#clock.now())} ran ${name}`);
        await new Promise<void>((resolve) => void this.#clock.setTimer(takes, resolve));
        return result;
      },
    });
  }
}
