// One caller in real time, talking to the conversation side of the voice service.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CallComponents } from '../../apps/voice/call/call-components.ts';
import { steadyClock } from '../../apps/voice/call/clock.ts';
import { createConversations } from '../../apps/voice/call/conversation.ts';
import { Memory } from '../../apps/voice/call/replying/history.ts';
import { SyntheticCaller } from '../../apps/voice/cases/harness/caller.suite.ts';
import { LatencyLog, type TurnLatency } from '../../apps/voice/metrics/metrics.ts';
import { SessionRegistry } from '../../apps/voice/sessions/registry.ts';
import { openVoiceDatabase } from '../../apps/voice/store/database.ts';
import type { Model } from '../../apps/voice/turn/persona.ts';
import { defaultUser } from '../../apps/voice/users/user.ts';

const drop = () => undefined;
export const silentLogger = { debug: drop, info: drop, warn: drop, error: drop, child: () => silentLogger };

const skill = {
  slug: 'default',
  name: 'Default',
  description: '',
  systemPrompt: 'You are measured.',
  speechBackend: undefined,
  voice: undefined,
  lang: undefined,
  temperature: undefined,
  maxTokens: undefined,
  verbosity: undefined,
  tools: undefined,
  delegates: undefined,
  behavior: { micro_ack: false },
  llm: {},
  viz: {},
};

interface TalkOptions {
  /** Of the call. */
  id?: string;
  /** The answer is over after so much silence. */
  restMs?: number;
  /** Called with each silence within an answer. */
  onHole?(ms: number): void;
}

/** People hear a pause of this length between sentences as one; so long it took the timer at most. */
const shortestHoleMs = 300;

/** Asks the same thing again and again, and gives how long each step of each answer took. */
export async function talk(
  speech: CallComponents['speech'],
  model: Model,
  question: Int16Array,
  turns: number,
  { id = 'bench', restMs = 0, onHole = drop }: TalkOptions = {},
): Promise<TurnLatency[]> {
  const taken: TurnLatency[] = [];
  const { caller, hangUp } = openCall(speech, model, { id, onTurn: (turn) => taken.push(turn) });
  const stop = keepPace(caller);
  for (let turn = 1; turn <= turns; turn += 1) {
    await pause(700);
    caller.say(question);
    let soundedAt: number | undefined;
    const isOver = () => taken.length >= turn && performance.now() - (soundedAt ?? 0) >= restMs;
    while (caller.speaker.queuedMs > 0 || !isOver()) {
      if (caller.speaker.queuedMs > 0) {
        const silentMs = performance.now() - (soundedAt ?? performance.now());
        if (silentMs > shortestHoleMs) onHole(silentMs);
        soundedAt = performance.now();
      }
      await pause(20);
    }
  }
  stop();
  await hangUp();
  return taken;
}

interface CallOptions {
  id?: string;
  onTurn?(turn: TurnLatency): void;
}

/** A call with a home of its own; who opens it lets its time pass. */
export function openCall(
  speech: CallComponents['speech'],
  model: Model,
  { id = 'bench', onTurn = drop }: CallOptions = {},
): { caller: SyntheticCaller; hangUp(): Promise<void> } {
  const home = mkdtempSync(join(tmpdir(), 'trunkline-bench-'));
  const database = openVoiceDatabase(home);
  const { begin } = createConversations({
    persona: (user, principal) => ({
      user,
      principal,
      skill,
      verbosity: 'silent',
      instructions: skill.systemPrompt,
      tools: [],
      model,
    }),
    sessions: new SessionRegistry(),
    delivery: { deliver: () => false },
    speech,
    memory: new Memory(database),
    latency: new LatencyLog(onTurn),
    summariser: () => model,
    settings: { halfDuplex: false, echoGuardMs: 300, speechTimeoutMs: 30_000 },
    clock: steadyClock,
    logger: silentLogger,
  });
  const caller = new SyntheticCaller(id, steadyClock.now);
  begin(caller, defaultUser);
  return {
    caller,
    async hangUp() {
      caller.close('measured');
      await pause(50);
      database.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** Moves 10 ms of sound every 10 ms, and catches up when the timer was late. */
function keepPace(caller: SyntheticCaller): () => void {
  const begun = performance.now();
  let passed = 0;
  const timer = setInterval(() => {
    for (; passed * 10 < performance.now() - begun; passed += 1) caller.pass();
  }, 10);
  return () => clearInterval(timer);
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
