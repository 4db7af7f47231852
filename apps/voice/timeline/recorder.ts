import { existsSync } from 'node:fs';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '@trunkline/config';
import { writeFileAtomic } from '@trunkline/storage';
import type { LineMessage } from '../call/line.ts';
import { renderTimeline } from './render.ts';
import { isTimelineMessage, type Timeline, type TimelineEvent } from './timeline.ts';

/** The beginning of a call explains it; a call that never ends must not fill the memory. */
const mostEvents = 5000;

export interface CallRecorderOptions {
  directory: string;
  /** How many timelines to keep, those of the calls that ended last; 0: none. */
  keep: number;
  logger: Logger;
}

interface RecordedCall {
  userId: string;
  skill: string;
  /** Milliseconds of the call's clock. */
  now(): number;
}

export interface CallRecording {
  add(message: LineMessage): void;
  /** Writes the timeline; a failure is logged. */
  close(): Promise<void>;
}

/** Removes what a smaller `keep` leaves out. Undefined where no timelines are wanted. */
export async function openRecorder(options: CallRecorderOptions): Promise<CallRecorder | undefined> {
  const { directory, keep, logger } = options;
  try {
    await removeOld(directory, keep);
  } catch (error) {
    logger.warn({ err: error, directory }, 'failed to remove old timelines of calls');
  }
  return keep === 0 ? undefined : new CallRecorder(options);
}

/** Keeps the timelines of the last calls as files. */
export class CallRecorder {
  readonly #options: CallRecorderOptions;
  readonly #writes = new Set<Promise<void>>();
  #count = 0;

  constructor(options: CallRecorderOptions) {
    this.#options = options;
  }

  open({ userId, skill, now }: RecordedCall): CallRecording {
    const [startedAt, start] = [new Date(), now()];
    const events: TimelineEvent[] = [];
    return {
      add: (message) => {
        if (events.length < mostEvents && isTimelineMessage(message))
          events.push({ atMs: now() - start, message });
      },
      close: async () => {
        const title = `Call of ${userId} with ${skill}`;
        const write = this.#write({ title, startedAt, lengthMs: now() - start, events });
        this.#writes.add(write);
        await write;
        this.#writes.delete(write);
      },
    };
  }

  /** Fulfilled when the timelines of all calls that are over were written. */
  async settle(): Promise<void> {
    await Promise.all(this.#writes);
  }

  async #write(timeline: Timeline): Promise<void> {
    const { directory, keep, logger } = this.#options;
    this.#count += 1;
    // By the end: a long call must not be the first to go.
    const time = new Date()
      .toISOString()
      .replaceAll(':', '-')
      .replace(/\.\d+Z$/, 'Z');
    const name = `${time}-${process.pid}-${String(this.#count).padStart(4, '0')}`;
    try {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      await writeTimeline(timeline, join(directory, name));
      await removeOld(directory, keep);
    } catch (error) {
      logger.warn({ err: error, directory }, 'failed to write the timeline of a call');
    }
  }
}

async function removeOld(directory: string, keep: number): Promise<void> {
  if (!existsSync(directory)) return;
  const files = (await readdir(directory)).filter((file) => /^\d{4}-.*\.(html|svg)$/.test(file));
  const names = [...new Set(files.map((file) => file.replace(/\.\w+$/, '')))].toSorted();
  const old = new Set(names.slice(0, Math.max(0, names.length - keep)));
  for (const file of files)
    if (old.has(file.replace(/\.\w+$/, ''))) await rm(join(directory, file), { force: true });
}

/** Writes the page and the picture beside each other; gives their paths. */
export async function writeTimeline(
  timeline: Timeline,
  base: string,
): Promise<{ html: string; svg: string }> {
  const [html, svg] = [`${base}.html`, `${base}.svg`];
  const rendered = await renderTimeline(timeline);
  await writeFileAtomic(html, rendered.html, { mode: 0o600 });
  await writeFileAtomic(svg, rendered.svg, { mode: 0o600 });
  return { html, svg };
}
