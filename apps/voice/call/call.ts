import type { Logger } from '@trunkline/config';
import type { Clock } from '@trunkline/schedule';
import type { Delivery } from '../delivery/delivery.ts';
import { NotificationQueue } from '../delivery/notification-queue.ts';
import { wordsOf } from '../errors.ts';
import type { LatencyLog, TurnMarks } from '../metrics/latency.ts';
import type { VoiceSession } from '../sessions/session.ts';
import type { AudioFrame } from '../speech/audio/frame.ts';
import type { SpeechParts } from '../speech/speech.ts';
import type { Persona } from '../turn/persona.ts';
import { Alarm } from './clock.ts';
import type { Line, LineMessage } from './line.ts';
import { type AudioInput, openAudioInput } from './listening/hearing.ts';
import { Loading } from './listening/loading.ts';
import { SpeechInput } from './listening/speech-input.ts';
import type { Histories } from './replying/histories.ts';
import type { History } from './replying/history.ts';
import type { ToolRuns } from './replying/tool-runs.ts';
import { createMessenger, type Outgoing, readMessage } from './rtvi.ts';
import { announce } from './speaking/announce.ts';
import { Fillers } from './speaking/fillers.ts';
import type { SpeechCache } from './speaking/speech-cache.ts';
import { SpeechPlayer } from './speaking/speech-player.ts';
import type { Voice } from './speaking/utterance.ts';
import { TurnController } from './turn-controller.ts';
import { Backchannel } from './turns/backchannel.ts';
import { EchoFilter } from './turns/echo-filter.ts';
import { EchoMatcher } from './turns/echo-matcher.ts';
import { SpeakingRate } from './turns/speaking-rate.ts';

export interface CallSettings {
  /** Do not listen while speaking, nor for a while after. */
  halfDuplex: boolean;
  echoGuardMs: number;
  /** How long a voice may take for the next sound. */
  speechTimeoutMs: number;
}

export interface CallComponents {
  line: Line;
  persona: Persona;
  speech: Omit<SpeechParts, 'transcriber' | 'describe' | 'close'>;
  phrases: SpeechCache;
  histories: Histories;
  runs: ToolRuns;
  latency: LatencyLog;
  settings: CallSettings;
  clock: Clock;
  logger: Logger;
}

/** Without a frame for this long, the microphone counts as silent. */
const droughtMs = 500;

/** One caller's conversation, from the first frame to the last. */
export class Call implements VoiceSession {
  readonly id: string;
  readonly userId: string;
  readonly #deps: CallComponents;
  readonly #send: (message: Outgoing) => void;
  readonly #history: History;
  readonly #releaseHistory: () => void;
  readonly #listener: SpeechInput;
  readonly #player: SpeechPlayer;
  readonly #notifications: NotificationQueue;
  readonly #turns: TurnController;
  readonly #drought: Alarm;
  readonly #loading: Loading;
  readonly #echo = new EchoMatcher();
  readonly #own: EchoFilter;
  #hearing: AudioInput | undefined;
  #stoppedAt = -Infinity;
  #frameAt = -Infinity;
  #closed = false;

  constructor(deps: CallComponents) {
    const { line, persona, clock, logger, settings } = deps;
    this.#deps = deps;
    this.id = line.id;
    this.userId = persona.user.id;
    this.#send = createMessenger(line);
    this.#drought = new Alarm(clock);
    this.#loading = new Loading(clock, (type) => this.#send({ type: 'server-message', data: { type } }));
    const { history, release } = deps.histories.open(persona.user.id, persona.skill.slug);
    this.#history = history;
    this.#releaseHistory = release;
    const speakingRate = new SpeakingRate();
    this.#listener = this.#openListener(speakingRate);
    this.#player = this.#openMouth();
    const player = this.#player;
    this.#own = new EchoFilter({ player, echo: this.#echo, clock, guardMs: settings.echoGuardMs });
    this.#notifications = this.#openNews();
    const { behavior } = persona.skill;
    this.#turns = new TurnController({
      sessionId: line.id,
      persona,
      listener: this.#listener,
      player,
      fillers: this.#openFillers(),
      backchannel: new Backchannel({
        player,
        clock,
        murmurs: behavior.backchannel === true && !settings.halfDuplex,
      }),
      history: this.#history,
      runs: deps.runs,
      speakingRate,
      own: this.#own,
      isLoading: () => this.#loading.isUnderWay,
      clock,
      logger,
      send: this.#send,
      intercept: (text) => this.#notifications.asked(text),
      answered: (marks) => this.#report(marks),
    });
    line.onMessage((message) => this.#receive(message));
    line.onAudio((frame) => this.#hear(frame));
    line.onClose(() => void this.close());
  }

  /** Begins to listen; until then, and where it cannot, the call goes on by text. */
  async listen(): Promise<void> {
    const { speech, logger } = this.#deps;
    void this.#loading.follow(speech.warm());
    try {
      this.#hearing = await openAudioInput({
        speech,
        isOpen: () => this.#isMicrophoneOpen,
        heard: (samples, probability) => this.#heard(samples, probability),
        logger,
      });
      this.#listener.judgeEndsBy(await speech.openSmartTurn());
      if (this.#closed) await this.#stopListening();
    } catch (error) {
      logger.error({ err: error }, 'the caller cannot be heard');
      this.#fail('I cannot hear you; you can write to me', error);
    }
  }

  offer(delivery: Delivery): void {
    this.#notifications.offer(delivery);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#notifications.close();
    this.#drought.cancel();
    this.#loading.stop();
    this.#turns.close();
    this.#player.close();
    this.#releaseHistory();
    void this.#stopListening();
  }

  async #stopListening(): Promise<void> {
    try {
      await this.#hearing?.close();
    } catch (error) {
      this.#deps.logger.warn({ err: error }, 'a microphone was not closed in good order');
    }
  }

  get #isMicrophoneOpen(): boolean {
    const { settings, clock } = this.#deps;
    if (!settings.halfDuplex) return true;
    return !this.#player.speaking && clock.now() - this.#stoppedAt >= settings.echoGuardMs;
  }

  #hear(frame: AudioFrame): void {
    this.#frameAt = this.#deps.clock.now();
    if (!this.#closed) this.#hearing?.accept(frame);
  }

  #heard(samples: Float32Array, probability: number): void {
    this.#echo.hear(samples, this.#deps.clock.now());
    this.#listener.accept(samples, probability);
  }

  #receive(message: LineMessage): void {
    const wish = readMessage(message);
    if (this.#closed || wish === undefined) return;
    if (wish.type === 'disconnect-bot') this.#deps.line.close('the caller asked for it');
    else if (wish.type === 'send-text') this.#turns.write(wish.text, wish);
    else this.#greet(wish.id);
  }

  #greet(id: string | undefined): void {
    const { skill, verbosity } = this.#deps.persona;
    const about = {
      skill: skill.slug,
      name: skill.name,
      verbosity,
      backend: this.#deps.speech.synthesizer.backend,
    };
    this.#send({ type: 'bot-ready', ...(id !== undefined && { id }), data: { version: '1.0.0', about } });
  }

  #report(marks: TurnMarks): void {
    const { latency } = this.#deps;
    latency.add(marks.latency);
    const { p50, p95, turns } = latency.summary();
    const voice_to_voice_ms = marks.latency.first_packet_ms;
    this.#send({ type: 'metrics', data: { voice_to_voice_ms, turn: marks.latency, p50, p95, turns } });
  }

  #openListener(speakingRate: SpeakingRate): SpeechInput {
    const { speech, logger } = this.#deps;
    return new SpeechInput({
      recognizer: speech.recognizer,
      speakingRate,
      logger,
      speechStarted: () => this.#turns.speechStarted(),
      progressed: () => {
        this.#drought.set(droughtMs, () => this.#listener.passSilence(droughtMs));
        this.#turns.progressed();
      },
      understood: (text) => this.#turns.understood(text),
    });
  }

  #openMouth(): SpeechPlayer {
    const { line, clock, settings, logger } = this.#deps;
    return new SpeechPlayer({
      speaker: line.speaker,
      voice: this.#voice(),
      clock,
      timeoutMs: settings.speechTimeoutMs,
      started: () => this.#botStarted(),
      stopped: () => this.#botStopped(),
      queued: (inMs, frame) => this.#echo.play(clock.now() + inMs, frame),
      silenced: () => this.#echo.stop(clock.now()),
      caption: (text) => this.#send({ type: 'bot-tts-text', data: { text } }),
      failed: (error) => {
        logger.warn({ err: error }, 'something could not be said');
        this.#fail('I cannot speak at the moment', error);
      },
    });
  }

  /** The voice of the skill. */
  #voice(): Voice {
    const { speech, phrases, persona } = this.#deps;
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
    this.#stoppedAt = this.#deps.clock.now();
    this.#own.voiceStopped(this.#listener.active);
    this.#send({ type: 'bot-stopped-speaking' });
  }

  #openFillers(): Fillers {
    const { clock, persona } = this.#deps;
    return new Fillers({
      clock,
      verbosity: persona.verbosity,
      acknowledges: persona.skill.behavior.micro_ack !== false,
      isQuiet: () => this.#player.idle && !this.#listener.active,
      say: (text) => this.#player.say({ text, phrase: true }),
    });
  }

  #openNews(): NotificationQueue {
    const { clock } = this.#deps;
    return new NotificationQueue({
      clock,
      quietMs: () => this.#turns.quietMs,
      isListening: () => this.#listener.active,
      isMuted: () => this.#hearing?.muted === true || clock.now() - this.#frameAt > 2 * droughtMs,
      say: (words, urgent, done) =>
        announce(this.#player, words, urgent, (heard) => {
          // What was heard belongs to the conversation.
          if (heard) this.#history.add([{ role: 'assistant', content: words }]);
          done(heard);
        }),
      tell: (outcome, done) => this.#turns.tell(outcome, done),
    });
  }

  #fail(words: string, error: unknown): void {
    this.#send({ type: 'error', data: { message: `${words}: ${wordsOf(error)}`, fatal: false } });
  }
}
