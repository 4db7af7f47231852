import { markOf } from '@trunkline/loop';
import { errorMessage } from '@trunkline/std';
import type { Delivery } from '../delivery/delivery.ts';
import { NotificationQueue } from '../delivery/notification-queue.ts';
import type { Language } from '../languages/languages.ts';
import type { TurnMarks } from '../metrics/metrics.ts';
import type { VoiceSession } from '../sessions/registry.ts';
import type { AudioFrame } from '../speech/audio/samples.ts';
import type { CallRecording } from '../timeline/recorder.ts';
import type { CallComponents } from './call-components.ts';
import { CallLanguage } from './call-language.ts';
import { withCallTools } from './call-tools.ts';
import { Alarm } from './clock.ts';
import { fieldsOf, type LineMessage, type Outgoing, readMessage } from './line.ts';
import { type AudioInput, ModelLoading, openAudioInput } from './listening/audio-input.ts';
import { SpeechInput } from './listening/speech-input.ts';
import type { History } from './replying/history.ts';
import { Fillers } from './speaking/fillers.ts';
import { SpeechPlayer } from './speaking/speech-player.ts';
import { spokenText } from './speaking/speech-text.ts';
import { clauseUtterances } from './speaking/utterance.ts';
import { TurnController } from './turn-controller.ts';
import { Backchannel } from './turns/backchannel.ts';
import { type Decision, DecisionLog } from './turns/decisions.ts';
import { Ducking } from './turns/ducking.ts';
import { EchoCorrelator, EchoFilter } from './turns/echo-filter.ts';
import { SpeakingRate } from './turns/endpointing.ts';

/** Without a frame for this long, the microphone counts as silent. */
const frameTimeoutMs = 500;
/** The page hangs up when it is told so; one that does not is cut off after this long. */
const hangUpMs = 2000;

/** One caller's conversation, from the first frame to the last. */
export class Call implements VoiceSession {
  readonly id: string;
  readonly userId: string;
  readonly #components: CallComponents;
  readonly #language: CallLanguage;
  readonly #history: History;
  readonly #releaseHistory: () => void;
  readonly #input: SpeechInput;
  readonly #player: SpeechPlayer;
  readonly #notifications: NotificationQueue;
  readonly #turns: TurnController;
  readonly #backchannel: Backchannel;
  readonly #ducking: Ducking;
  readonly #frameTimeout: Alarm;
  readonly #hangUpTimeout: Alarm;
  readonly #loading: ModelLoading;
  readonly #correlator = new EchoCorrelator();
  readonly #echo: EchoFilter;
  readonly #recording: CallRecording | undefined;
  readonly #wantsDecisions: boolean;
  #microphone: AudioInput | undefined;
  #frameAt = -Infinity;
  readonly #closing = new AbortController();
  #closed = false;
  #greeted = false;

  constructor(components: CallComponents) {
    const { line, clock, logger, settings, runs, histories } = components;
    const persona = withCallTools(components.persona, {
      end: () => this.#turns.endCall(),
      hold: () => this.#turns.hold.set(true),
    });
    this.#components = { ...components, persona };
    this.#language = new CallLanguage({
      persona,
      standard: settings.language,
      detect: components.speech.detectLanguage,
      onChange: (code, reason) => {
        this.#reportDecision({ decision: 'language', reason: `${code}, ${reason}` });
        this.#openEndOfTurnModels().catch((error: unknown) =>
          logger.warn({ err: error }, 'failed to open the end-of-turn model'),
        );
      },
      logger,
    });
    const language = () => this.language;
    this.id = line.id;
    this.userId = persona.user.id;
    this.#recording = components.recorder?.open({
      userId: this.userId,
      skill: persona.skill.slug,
      now: clock.now,
    });
    this.#wantsDecisions = fieldsOf(line.requestData).decisions === true;
    this.#frameTimeout = new Alarm(clock);
    this.#hangUpTimeout = new Alarm(clock);
    this.#loading = new ModelLoading(clock, (type) => this.#send({ type: 'server-message', data: { type } }));
    const { history, release } = histories.open(persona.user.id, persona.skill.slug, persona.model);
    this.#history = history;
    this.#releaseHistory = release;
    const speakingRate = new SpeakingRate();
    const [input, player] = [this.#createInput(speakingRate), this.#createPlayer()];
    this.#input = input;
    this.#player = player;
    const { echoGuardMs: guardMs } = settings;
    const echo = new EchoFilter({ player, correlator: this.#correlator, clock, guardMs });
    this.#echo = echo;
    this.#notifications = this.#createNotifications();
    const { backchannel, reprompt_after: repromptAfter } = persona.skill.behavior;
    const enabled = backchannel === true && !settings.halfDuplex;
    const silenceLimitMs = repromptAfter === undefined ? undefined : repromptAfter * 1000;
    const quietMs = () => this.#turns.quietMs;
    this.#backchannel = new Backchannel({ player, clock, language, enabled, silenceLimitMs, quietMs });
    const decisions = new DecisionLog((decision) => this.#reportDecision(decision));
    this.#turns = new TurnController({
      sessionId: line.id,
      persona,
      language,
      input,
      player,
      fillers: this.#createFillers(),
      backchannel: this.#backchannel,
      history,
      runs,
      speakingRate,
      echo,
      isLoading: () => this.#loading.isPending,
      clock,
      logger,
      decisions,
      send: (message) => this.#send(message),
      intercept: (text) => {
        void this.#language.onWords(text);
        return this.#notifications.intercept(text);
      },
      answered: (marks) => this.#report(marks),
      hangUp: () => this.#hangUp(),
    });
    const mayInterrupt = persona.skill.behavior.bargein !== false;
    const turns = this.#turns;
    this.#ducking = new Ducking({ input, player, echo, turns, clock, decisions, mayInterrupt });
    line.onMessage((message) => this.#receive(message));
    line.onAudio((frame) => this.#acceptFrame(frame));
    line.onClose(() => void this.close());
  }

  /** Opens the microphone; until then, and where it fails, the call goes on by text. */
  async listen(): Promise<void> {
    const { speech, persona, logger } = this.#components;
    const warm = speech.warm();
    void this.#loading.follow(warm);
    // A greeting goes first.
    if (persona.skill.behavior.greeting === undefined) void warm.then(() => this.#prepareSpeech());
    try {
      this.#microphone = await openAudioInput({
        speech,
        isOpen: () => this.#isMicrophoneOpen,
        isBotSpeaking: () => this.#player.speaking,
        onWindow: (samples, probability) => this.#acceptWindow(samples, probability),
        logger,
      });
      await this.#openEndOfTurnModels();
      if (this.#closed) await this.#closeMicrophone();
    } catch (error) {
      logger.error({ err: error }, 'failed to open speech input');
      this.#sendError('I cannot hear you; you can write to me', error);
    }
  }

  /** Synthesizes acknowledgements and usual openings before they are needed, while the bot says nothing. */
  async #prepareSpeech(): Promise<void> {
    const { persona, speechCache, logger } = this.#components;
    const { acknowledgements } = this.language.fillers[persona.verbosity];
    const phrases = persona.skill.behavior.micro_ack === false ? [] : acknowledgements;
    await speechCache
      .prepare(phrases, this.#speechRequest(this.#closing.signal), () => this.#player.idle)
      .catch((error: unknown) => logger.debug({ err: error }, 'failed to prepare speech'));
  }

  get language(): Language {
    return this.#language.phrases;
  }

  async #openEndOfTurnModels(): Promise<void> {
    const { speech } = this.#components;
    const { code } = this.#language;
    const [detector, smartTurn] = await Promise.all([speech.openTurnDetector(code), speech.openSmartTurn()]);
    // Once the language has changed again, another call of this opens its models.
    if (code === this.#language.code) this.#input.setEndOfTurnModels(smartTurn, detector);
  }

  offer(delivery: Delivery): void {
    this.#notifications.offer(delivery);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#closing.abort();
    this.#notifications.close();
    this.#frameTimeout.cancel();
    this.#hangUpTimeout.cancel();
    this.#loading.stop();
    this.#ducking.close();
    this.#turns.close();
    this.#player.close();
    this.#releaseHistory();
    void this.#recording?.close();
    void this.#closeMicrophone();
  }

  async #closeMicrophone(): Promise<void> {
    try {
      await this.#microphone?.close();
    } catch (error) {
      this.#components.logger.warn({ err: error }, 'failed to close speech input');
    }
  }

  get #isMicrophoneOpen(): boolean {
    return !this.#components.settings.halfDuplex || this.#echo.isClear;
  }

  #acceptFrame(frame: AudioFrame): void {
    this.#frameAt = this.#components.clock.now();
    if (!this.#closed) this.#microphone?.accept(frame);
  }

  #acceptWindow(samples: Float32Array, probability: number): void {
    this.#correlator.hear(samples, this.#components.clock.now());
    this.#input.accept(samples, probability);
    this.#ducking.onWindow(probability);
  }

  #receive(message: LineMessage): void {
    const request = readMessage(message);
    if (this.#closed || request === undefined) return;
    if (request.type === 'disconnect-bot') this.#components.line.close('the caller asked for it');
    else if (request.type === 'resume-call') this.#turns.hold.set(false);
    else if (request.type === 'send-text') this.#turns.write(request.text, request);
    else this.#greet(request.id, request.isReconnect);
  }

  #hangUp(): void {
    this.#send({ type: 'server-message', data: { type: 'call-ended' } });
    this.#hangUpTimeout.set(hangUpMs, () => this.#components.line.close('the bot ended the call'));
  }

  #greet(id: string | undefined, isReconnect: boolean): void {
    const { persona, speech } = this.#components;
    const { skill, verbosity } = persona;
    const about = { skill: skill.slug, name: skill.name, verbosity, backend: speech.synthesizer.backend };
    this.#send({ type: 'bot-ready', ...(id !== undefined && { id }), data: { version: '1.0.0', about } });
    const { greeting } = skill.behavior;
    if (greeting === undefined || this.#greeted || isReconnect) return;
    this.#greeted = true;
    this.#announce(greeting, false, (heard) => {
      // Some models take no conversation that begins with the assistant.
      const begin = { role: 'user' as const, content: '(The call begins.)' };
      if (heard) this.#history.add([begin, { role: 'assistant', content: greeting }]);
    });
  }

  #report(marks: TurnMarks): void {
    const { latency } = this.#components;
    latency.add(marks.latency);
    const { p50, p95, turns } = latency.summary();
    const voice_to_voice_ms = marks.latency.first_packet_ms;
    this.#send({ type: 'metrics', data: { voice_to_voice_ms, turn: marks.latency, p50, p95, turns } });
  }

  #createInput(speakingRate: SpeakingRate): SpeechInput {
    const { line, speech, logger } = this.#components;
    return new SpeechInput({
      caller: line.id,
      language: () => this.#language.spoken,
      onLanguage: (code) => this.#language.onHeard(code),
      recognizer: speech.recognizer,
      acceptsDoubtful: () => this.#player.speaking || this.#backchannel.asks,
      speakingRate,
      logger,
      onSpeechStarted: () => this.#turns.onSpeechStarted(),
      onWindow: () => {
        this.#frameTimeout.set(frameTimeoutMs, () => {
          this.#input.passSilence(frameTimeoutMs);
          this.#player.duck(false);
        });
        this.#turns.onWindow();
      },
      onTranscript: (text) => this.#turns.onTranscript(text),
      onLikelyEnd: (likely) => this.#turns.onLikelyEnd(likely),
    });
  }

  #createPlayer(): SpeechPlayer {
    const { line, clock, settings, logger, speechCache } = this.#components;
    const correlator = this.#correlator;
    return new SpeechPlayer({
      speaker: line.speaker,
      voice: (utterance, signal) => speechCache.say(utterance, this.#speechRequest(signal)),
      openings: speechCache.openingsIn(() => this.#speechRequest(this.#closing.signal)),
      clock,
      timeoutMs: settings.speechTimeoutMs,
      onQueued: () => this.#turns.onUtteranceQueued(),
      onStarted: () => this.#botStarted(),
      onStopped: () => {
        this.#echo.onBotStopped(this.#input.active);
        this.#send({ type: 'bot-stopped-speaking' });
      },
      onIdle: () => {
        this.#turns.onPlayerIdle();
        void this.#prepareSpeech();
      },
      onCaption: (text) => this.#send({ type: 'bot-tts-text', data: { text } }),
      onAudio: (inMs, frame) => correlator.play((correlator.pausedAt ?? clock.now()) + inMs, frame),
      onSilenced: () => correlator.stop(clock.now()),
      onPaused: () => {
        correlator.pause(clock.now());
        this.#sendPlayout('speech-paused');
      },
      onResumed: () => {
        correlator.resume(clock.now());
        this.#sendPlayout('speech-resumed');
      },
      onError: (error) => {
        logger.warn({ err: error }, 'failed to speak');
        this.#sendError('I cannot speak at the moment', error);
      },
    });
  }

  /** Has the page cut off what it has, or let it be heard again. Before the first sound there is nothing to cut. */
  #sendPlayout(type: 'speech-paused' | 'speech-resumed'): void {
    if (this.#player.speaking) this.#send({ type: 'server-message', data: { type } });
  }

  #speechRequest(signal: AbortSignal) {
    const { line, persona } = this.#components;
    const { voice, tts_backend: backend } = persona.skill;
    return { voice, lang: this.#language.lang, backend, caller: line.id, signal };
  }

  #botStarted(): void {
    // Half a sentence from before the microphone closed is of no use.
    if (!this.#isMicrophoneOpen) this.#turns.endUserTurn();
    this.#turns.onPlayoutStarted();
    this.#send({ type: 'bot-started-speaking' });
  }

  #createFillers(): Fillers {
    const { clock, persona } = this.#components;
    return new Fillers({
      clock,
      verbosity: persona.verbosity,
      language: () => this.language,
      acknowledges: persona.skill.behavior.micro_ack !== false,
      isQuiet: () => this.#player.idle && !this.#input.active,
      say: (text) => this.#player.say({ text, cached: true }),
    });
  }

  #createNotifications(): NotificationQueue {
    const { clock } = this.#components;
    return new NotificationQueue({
      clock,
      language: () => this.language,
      quietMs: () => this.#turns.quietMs,
      isListening: () => this.#input.active,
      isMuted: () => this.#microphone?.muted === true || clock.now() - this.#frameAt > 2 * frameTimeoutMs,
      say: (words, urgent, done, origins) =>
        this.#announce(words, urgent, (heard) => {
          // What was heard belongs to the conversation.
          if (heard) this.#history.add([{ role: 'assistant', content: words, ...markOf(origins) }]);
          done(heard);
        }),
      announceResult: (outcome, done) => this.#turns.announceResult(outcome, done),
    });
  }

  /** Says a text that is no reply. `done` reports once whether all of it was heard. */
  #announce(words: string, urgent: boolean, done: (heard: boolean) => void): void {
    const utterances = clauseUtterances(spokenText(words, this.language), done);
    if (urgent) for (const utterance of utterances.toReversed()) this.#player.sayNext(utterance);
    else for (const utterance of utterances) this.#player.say(utterance);
  }

  #send(message: Outgoing): void {
    this.#recording?.add(message);
    this.#components.line.send(message);
  }

  /** For the timeline of the call, and for a client that asked for it with `request_data: { decisions: true }`. */
  #reportDecision(decision: Decision): void {
    const message: Outgoing = { type: 'server-message', data: { type: 'decision', ...decision } };
    this.#recording?.add(message);
    if (this.#wantsDecisions) this.#components.line.send(message);
  }

  #sendError(words: string, error: unknown): void {
    this.#send({ type: 'error', data: { message: `${words}: ${errorMessage(error)}`, fatal: false } });
  }
}
