import type { Logger } from '@trunkline/config';
import type { Clock } from '@trunkline/schedule';
import type { Delivery } from '../delivery/delivery.ts';
import { NewsDesk } from '../delivery/news-desk.ts';
import { wordsOf } from '../errors.ts';
import type { LatencyLog, TurnMarks } from '../metrics/latency.ts';
import type { VoiceSession } from '../sessions/session.ts';
import type { AudioFrame } from '../speech/audio/frame.ts';
import { toFloat32 } from '../speech/audio/samples.ts';
import { StreamResampler } from '../speech/audio/stream-resampler.ts';
import type { SpeechParts } from '../speech/speech.ts';
import type { Model } from '../turn/model-settings.ts';
import type { Persona } from '../turn/persona.ts';
import { Alarm } from './clock.ts';
import { Courtesies } from './courtesies.ts';
import { Dialogue } from './dialogue.ts';
import type { Line, LineMessage } from './line.ts';
import { Ear } from './listening/ear.ts';
import { Listener } from './listening/listener.ts';
import { createMessenger, type Outgoing, readMessage } from './messenger.ts';
import { History } from './replying/history.ts';
import type { Memory } from './replying/memory.ts';
import { ClauseSplitter } from './speaking/clauses.ts';
import { Fillers } from './speaking/fillers.ts';
import { Mouth } from './speaking/mouth.ts';
import type { PhraseBook } from './speaking/phrases.ts';
import type { Voice } from './speaking/piece.ts';
import { Pace } from './turns/pace.ts';

export interface CallSettings {
  /** Do not listen while speaking, nor for a while after. */
  halfDuplex: boolean;
  echoGuardMs: number;
  /** How long a voice may take for the next sound. */
  voicePatienceMs: number;
}

export interface CallParts {
  line: Line;
  persona: Persona;
  speech: Pick<SpeechParts, 'synthesizer' | 'recognizer' | 'openDetector'>;
  phrases: PhraseBook;
  memory: Memory;
  latency: LatencyLog;
  settings: CallSettings;
  /** Writes summaries of long conversations. */
  summariser(): Model;
  clock: Clock;
  logger: Logger;
}

const listeningRate = 16_000;
/** Without a frame for this long, the microphone counts as silent. */
const droughtMs = 500;

/** One caller's conversation, from the first frame to the last. */
export class Call implements VoiceSession {
  readonly id: string;
  readonly userId: string;
  readonly #parts: CallParts;
  readonly #send: (message: Outgoing) => void;
  readonly #history: History;
  readonly #listener: Listener;
  readonly #mouth: Mouth;
  readonly #news: NewsDesk;
  readonly #dialogue: Dialogue;
  readonly #drought: Alarm;
  #ear: Ear | undefined;
  #stoppedAt = -Infinity;
  #frameAt = -Infinity;
  #closed = false;

  constructor(parts: CallParts) {
    const { line, persona, clock, logger, settings } = parts;
    this.#parts = parts;
    this.id = line.id;
    this.userId = persona.user.id;
    this.#send = createMessenger(line);
    this.#drought = new Alarm(clock);
    this.#history = this.#openHistory();
    const pace = new Pace();
    this.#listener = this.#openListener(pace);
    this.#mouth = this.#openMouth();
    const mouth = this.#mouth;
    this.#news = this.#openNews();
    const { behavior } = persona.skill;
    this.#dialogue = new Dialogue({
      sessionId: line.id,
      persona,
      listener: this.#listener,
      mouth,
      fillers: this.#openFillers(),
      courtesies: new Courtesies({
        mouth,
        clock,
        murmurs: behavior.backchannel === true && !settings.halfDuplex,
      }),
      history: this.#history,
      pace,
      clock,
      logger,
      echoGuardMs: settings.echoGuardMs,
      send: this.#send,
      intercept: (text) => this.#news.asked(text),
      answered: (marks) => this.#report(marks),
    });
    line.onMessage((message) => this.#receive(message));
    line.onAudio((frame) => this.#hear(frame));
    line.onClose(() => void this.close());
  }

  /** Begins to listen; until then, and where it cannot, the call goes on by text. */
  async listen(): Promise<void> {
    const { speech, logger } = this.#parts;
    try {
      const detector = await speech.openDetector();
      if (this.#closed) return await detector.close();
      const resampler = new StreamResampler(listeningRate);
      this.#ear = new Ear({
        detector,
        downsample: (frame) => toFloat32(resampler.push(frame).samples),
        isOpen: () => this.#isMicrophoneOpen,
        heard: (samples, probability) => this.#listener.accept(samples, probability),
        logger,
      });
    } catch (error) {
      logger.error({ err: error }, 'the caller cannot be heard');
      this.#fail('I cannot hear you; you can write to me', error);
    }
  }

  offer(delivery: Delivery): void {
    this.#news.offer(delivery);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#news.close();
    this.#ear?.close();
    this.#drought.cancel();
    this.#dialogue.close();
    this.#mouth.close();
    this.#history.close();
  }

  get #isMicrophoneOpen(): boolean {
    const { settings, clock } = this.#parts;
    if (!settings.halfDuplex) return true;
    return !this.#mouth.speaking && clock.now() - this.#stoppedAt >= settings.echoGuardMs;
  }

  #hear(frame: AudioFrame): void {
    this.#frameAt = this.#parts.clock.now();
    this.#ear?.accept(frame);
  }

  #receive(message: LineMessage): void {
    const wish = readMessage(message);
    if (this.#closed || wish === undefined) return;
    if (wish.type === 'disconnect-bot') this.#parts.line.close('the caller asked for it');
    else if (wish.type === 'send-text') this.#dialogue.write(wish.text, wish);
    else this.#greet(wish.id);
  }

  #greet(id: string | undefined): void {
    const { skill, verbosity } = this.#parts.persona;
    const about = {
      skill: skill.slug,
      name: skill.name,
      verbosity,
      backend: this.#parts.speech.synthesizer.backend,
    };
    this.#send({ type: 'bot-ready', ...(id !== undefined && { id }), data: { version: '1.0.0', about } });
  }

  #report(marks: TurnMarks): void {
    const { latency } = this.#parts;
    latency.add(marks.latency);
    const { p50, p95, turns } = latency.summary();
    this.#send({ type: 'metrics', data: { turn: marks.latency, p50, p95, turns } });
  }

  #openHistory(): History {
    const { persona, memory, summariser, logger } = this.#parts;
    const { user, skill } = persona;
    return new History({
      earlier: memory.recall(user.id, skill.slug),
      keep: (messages) => memory.keep(user.id, skill.slug, messages),
      summariser,
      logger,
    });
  }

  #openListener(pace: Pace): Listener {
    const { speech, logger } = this.#parts;
    return new Listener({
      recognizer: speech.recognizer,
      pace,
      logger,
      speechStarted: () => this.#dialogue.speechStarted(),
      progressed: () => {
        this.#drought.set(droughtMs, () => this.#listener.passSilence(droughtMs));
        this.#dialogue.progressed();
      },
      understood: (text) => this.#dialogue.understood(text),
    });
  }

  #openMouth(): Mouth {
    const { line, clock, settings, logger } = this.#parts;
    return new Mouth({
      speaker: line.speaker,
      voice: this.#voice(),
      clock,
      patienceMs: settings.voicePatienceMs,
      started: () => this.#botStarted(),
      stopped: () => this.#botStopped(),
      caption: (text) => this.#send({ type: 'bot-tts-text', data: { text } }),
      failed: (error) => {
        logger.warn({ err: error }, 'something could not be said');
        this.#fail('I cannot speak at the moment', error);
      },
    });
  }

  /** The voice of the skill. */
  #voice(): Voice {
    const { speech, phrases, persona } = this.#parts;
    const { voice, lang, speechBackend: backend } = persona.skill;
    return ({ text, phrase }, signal) =>
      (phrase ? phrases : speech.synthesizer).speak({ text, voice, lang, backend, signal });
  }

  #botStarted(): void {
    // What was half heard before belongs to nobody once the microphone is closed.
    if (!this.#isMicrophoneOpen) this.#listener.reset();
    this.#send({ type: 'bot-started-speaking' });
  }

  #botStopped(): void {
    this.#stoppedAt = this.#parts.clock.now();
    this.#dialogue.botStopped();
    this.#send({ type: 'bot-stopped-speaking' });
  }

  #openFillers(): Fillers {
    const { clock, persona } = this.#parts;
    return new Fillers({
      clock,
      verbosity: persona.verbosity,
      acknowledges: persona.skill.behavior.micro_ack !== false,
      isQuiet: () => this.#mouth.idle && !this.#listener.active,
      say: (text) => this.#mouth.say({ text, phrase: true }),
    });
  }

  #openNews(): NewsDesk {
    const { clock } = this.#parts;
    return new NewsDesk({
      clock,
      quietMs: () => this.#dialogue.quietMs,
      isListening: () => this.#listener.active,
      isMuted: () => this.#ear?.muted === true || clock.now() - this.#frameAt > 2 * droughtMs,
      say: (words, urgent, done) => this.#announce(words, urgent, done),
    });
  }

  /** Says something that is no answer; what was heard of it belongs to the conversation. */
  #announce(words: string, urgent: boolean, done: (heard: boolean) => void): void {
    const splitter = new ClauseSplitter();
    const clauses = [...splitter.push(words), ...splitter.flush()].map(({ text }) => text);
    let open = true;
    const finish = (heard: boolean) => {
      if (!open) return;
      open = false;
      if (heard) this.#history.add([{ role: 'assistant', content: words }]);
      done(heard);
    };
    const sayings = clauses.map((text, index) => ({
      text,
      heard: () => index === clauses.length - 1 && finish(true),
      cut: () => finish(false),
      failed: () => finish(false),
    }));
    if (urgent) for (const saying of sayings.toReversed()) this.#mouth.sayNext(saying);
    else for (const saying of sayings) this.#mouth.say(saying);
  }

  #fail(words: string, error: unknown): void {
    this.#send({ type: 'error', data: { message: `${words}: ${wordsOf(error)}`, fatal: false } });
  }
}
