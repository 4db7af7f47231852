import { anonymous } from '@trunkline/identity';
import { systemClock } from '@trunkline/schedule';
import { temporaryDirectory, waitFor } from '@trunkline/testing';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { RecordingLogger } from '../fixtures/recording-logger.ts';
import type { NumberedEvent, TaskState } from '../protocol/model.ts';
import { TaskEngine } from './engine.ts';
import type { ExecutionEvent } from './executor.ts';
import { Feed } from './feed.ts';
import type { LiveTask } from './live-task.ts';

/** What a caller, the agent or a reader may do next; numbers choose among what is there. */
type Action =
  | { do: 'send' }
  | { do: 'answer' | 'cancel' | 'report' | 'follow' | 'return' | 'leave'; which: number };

const action: fc.Arbitrary<Action> = fc.oneof(
  fc.constant<Action>({ do: 'send' }),
  fc.record({
    do: fc.constantFrom('answer', 'cancel', 'report', 'follow', 'return', 'leave'),
    which: fc.nat(5),
  }) as fc.Arbitrary<Action>,
);

const reports: ExecutionEvent[] = [
  { type: 'text-delta', text: 'word ' },
  { type: 'progress', text: 'on it' },
  { type: 'tool-start', toolCallId: '1', name: 'tool' },
  { type: 'input-required', question: 'what?' },
  { type: 'completed' },
  { type: 'failed', message: 'no' },
];

/** The contract's table, written down once more. */
const allowed: Partial<Record<TaskState, TaskState[]>> = {
  working: ['working', 'input-required', 'completed', 'failed', 'canceled'],
  'input-required': ['working', 'canceled'],
};

/** One reader: what it saw, so that it can come back and be checked. */
interface Reader {
  live: LiveTask;
  seen: number[];
  feed: Feed;
  left: boolean;
}

class World {
  readonly directory = temporaryDirectory();
  readonly turns: ((event: ExecutionEvent | undefined) => void)[] = [];
  readonly history = new Map<string, TaskState[]>();
  readonly tasks: LiveTask[] = [];
  readonly readers: Reader[] = [];
  readonly engine = new TaskEngine({
    path: `${this.directory.path}/tasks.db`,
    executor: { execute: (_request, signal) => this.#turn(signal) },
    parkedTasks: 'keep',
    quotaBytes: 0,
    maximumRunning: 1000,
    clock: systemClock,
    logger: new RecordingLogger(),
  });

  run(step: Action): void {
    if (step.do === 'send') this.#send(undefined);
    else if (step.do === 'report') this.#report(step.which);
    else this.#onTask(step.do, step.which);
  }

  stop(): void {
    for (const turn of this.turns.splice(0)) turn(undefined);
    this.engine.stop();
    this.directory.remove();
  }

  #onTask(what: string, which: number): void {
    const task = this.tasks[which % Math.max(1, this.tasks.length)];
    if (task === undefined) return;
    if (what === 'answer') this.#send(task.id);
    if (what === 'cancel') this.engine.cancel(task.id, false);
    if (what === 'follow')
      this.#follow(task, Feed.fromNow(this.engine, task, { until: 'task' }), task.sequence);
    if (what === 'return') this.#comeBack(which);
    if (what === 'leave') this.#leave(this.readers[which % Math.max(1, this.readers.length)]);
  }

  #send(taskId: string | undefined): void {
    const before = taskId === undefined ? undefined : this.engine.get(taskId).state;
    const message = {
      messageId: crypto.randomUUID(),
      role: 'user' as const,
      parts: [{ type: 'text' as const, text: 'hi' }],
      ...(taskId !== undefined && { taskId }),
    };
    const { live } = this.engine.start({ message, metadata: {}, principal: anonymous, strict: false });
    expect(live.id === taskId).toBe(before === 'input-required');
    expect(live.state).toBe('working');
    if (this.tasks.includes(live)) return;
    this.tasks.push(live);
    this.#watch(live);
  }

  #watch(live: LiveTask): void {
    const states: TaskState[] = ['working'];
    this.history.set(live.id, states);
    live.subscribe(({ event }) => {
      if (event.type === 'status') states.push(event.state);
    });
  }

  #follow(live: LiveTask, feed: Feed, from: number): void {
    const reader: Reader = { live, seen: [from], feed, left: false };
    this.readers.push(reader);
    feed.open({
      task: (_task, sequence) => reader.seen.splice(0, 1, sequence),
      // Every third is one too many for the reader, who is then behind for a moment.
      event: (emitted: NumberedEvent) => reader.seen.push(emitted.sequence) % 3 > 0,
      drained: () => new Promise((resolve) => setImmediate(resolve)),
      end: () => undefined,
    });
  }

  #leave(reader: Reader | undefined): void {
    if (reader === undefined) return;
    reader.left = true;
    reader.feed.close();
  }

  #comeBack(which: number): void {
    const reader = this.readers[which % Math.max(1, this.readers.length)];
    if (reader === undefined) return;
    this.#leave(reader);
    const last = reader.seen.at(-1) ?? 0;
    this.#follow(reader.live, Feed.after(this.engine, reader.live, last, { until: 'task' }), last);
  }

  #report(which: number): void {
    const turn = this.turns.splice(which % Math.max(1, this.turns.length), 1)[0];
    turn?.(reports[which % reports.length]);
  }

  async *#turn(signal: AbortSignal): AsyncGenerator<ExecutionEvent> {
    while (!signal.aborted) {
      const event = await new Promise<ExecutionEvent | undefined>((resolve) => this.turns.push(resolve));
      if (event === undefined) return;
      yield event;
    }
  }
}

it('keeps the table of states and loses no event, whatever comes in whatever order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 10, maxLength: 60, size: 'max' }), async (actions) => {
      const world = new World();
      try {
        for (const step of actions) {
          world.run(step);
          await new Promise((resolve) => setImmediate(resolve));
        }
        // Readers are told of an end when it is on disk.
        await Promise.all(world.tasks.map((task) => task.saving));
        const isBehind = ({ seen, left, live }: Reader) => !left && seen.at(-1) !== live.sequence;
        const told = { timeoutMs: 60_000, intervalMs: 1 };
        await waitFor(() => !world.readers.some(isBehind), told).catch(() => undefined);
        for (const task of world.tasks) {
          const states = world.history.get(task.id) ?? [];
          states.slice(1).forEach((state, index) => {
            expect(allowed[states[index] ?? 'failed'] ?? []).toContain(state);
          });
          expect(world.engine.get(task.id).state).toBe(states.at(-1));
        }
        for (const { seen, left, live } of world.readers) {
          // Consecutive numbers: nothing twice, nothing left out.
          expect(seen).toEqual(seen.map((_, index) => (seen[0] ?? 0) + index));
          if (!left) expect(seen.at(-1)).toBe(live.sequence);
        }
      } finally {
        world.stop();
      }
    }),
    // A reader that gets nothing is waited for: shorter examples would take minutes.
    { numRuns: 150, endOnFailure: true },
  );
});
