import { createHash } from 'node:crypto';
import type { calendar_v3 } from '@googleapis/calendar';
import type { Bus, Draft, Memory } from '@trunkline/bus';
import { derivedId, fromOutside } from '../../core/messages.ts';
import type { PluginContext } from '../../core/plugins.ts';
import { type CloudAccount, CloudError } from './account.ts';

const gone = 410;

/** The most that the calendar returns; one of an organisation can hold tens of thousands. */
const pageSize = 2500;

const mostPages = 100;

const dayMs = 24 * 60 * 60 * 1000;

const markMs = 60 * dayMs;

/** Mail may keep its label for years; a forgotten one would be published again. */
const mailMs = 3650 * dayMs;

/** Known without asking the bus; each poll asks for the newest. */
const mostRemembered = 20_000;

const cleared = '';

/** How far calendar and labels were read, by whichever switchboard on the bus. */
export class PollState {
  readonly #marks: Memory;
  readonly #mails: Memory;
  readonly #remembered = new Set<string>();

  private constructor(marks: Memory, mails: Memory) {
    this.#marks = marks;
    this.#mails = mails;
  }

  static async open(bus: Bus): Promise<PollState> {
    return new PollState(
      await bus.memory('cloud-marks', { ttlMs: markMs }),
      await bus.memory('cloud-mails', { ttlMs: mailMs }),
    );
  }

  async mark(name: string): Promise<string | undefined> {
    return (await this.#marks.recall(keyOf(name))) || undefined;
  }

  async setMark(name: string, value: string): Promise<void> {
    await this.#marks.replace(keyOf(name), value);
  }

  async clearMark(name: string): Promise<void> {
    await this.#marks.replace(keyOf(name), cleared);
  }

  async hasSeen(mailId: string): Promise<boolean> {
    if (this.#remembered.has(mailId)) return true;
    const isSeen = (await this.#mails.recall(keyOf(mailId))) !== undefined;
    if (isSeen) this.#remember(mailId);
    return isSeen;
  }

  async see(mailId: string): Promise<void> {
    await this.#mails.keep(keyOf(mailId), 'seen');
    this.#remember(mailId);
  }

  #remember(mailId: string): void {
    if (this.#remembered.size >= mostRemembered) this.#remembered.clear();
    this.#remembered.add(mailId);
  }
}

function keyOf(name: string): string {
  return createHash('sha256').update(name).digest('hex');
}

export interface CloudPoll {
  account: CloudAccount;
  bus: Bus;
  state: PollState;
  senders: PluginContext['senders'];
  files: PluginContext['files'];
}

/** Publishes changes since the last poll; the first poll only stores the sync token. */
export async function pollCalendar(
  { account, bus, state, senders }: Omit<CloudPoll, 'files'>,
  calendarId: string,
  signal: AbortSignal,
): Promise<void> {
  const name = `calendar ${calendarId}`;
  const syncToken = await state.mark(name);
  try {
    const { events, next } = await readChanges(account, calendarId, syncToken, signal);
    for (const draft of events.map((event) => fromOutside(draftOf(event, calendarId))))
      if (senders.takes(draft, { isForgeable: true })) await bus.publish(draft);
    if (next !== undefined) await state.setMark(name, next);
  } catch (error) {
    // The sync token expired: changes since then cannot be told apart.
    if (!(error instanceof CloudError) || error.status !== gone) throw error;
    await state.clearMark(name);
    await pollCalendar({ account, bus, state, senders }, calendarId, signal);
  }
}

async function readChanges(
  account: CloudAccount,
  calendarId: string,
  syncToken: string | undefined,
  signal: AbortSignal,
): Promise<{ events: calendar_v3.Schema$Event[]; next: string | undefined }> {
  const calendar = await account.calendar();
  const events: calendar_v3.Schema$Event[] = [];
  let pageToken: string | undefined;
  for (let page = 0; page < mostPages; page += 1) {
    const query = {
      calendarId,
      singleEvents: true,
      maxResults: pageSize,
      ...(syncToken && { syncToken }),
      ...(pageToken && { pageToken }),
    };
    const { data } = await account.call(signal, (options) => calendar.events.list(query, options));
    // The first poll only stores the sync token.
    if (syncToken !== undefined) events.push(...(data.items ?? []));
    if (!data.nextPageToken) return { events, next: data.nextSyncToken ?? undefined };
    pageToken = data.nextPageToken;
  }
  throw new Error(
    `The calendar ${calendarId} has more than ${pageSize * mostPages} events, too many to follow: name another in calendar.orgCalendarId of cloud.yaml.`,
  );
}

function draftOf(event: calendar_v3.Schema$Event, calendarId: string): Draft {
  const { id = '', summary, description, location, status, updated, created, htmlLink } = event;
  const start = event.start?.dateTime ?? event.start?.date;
  const end = event.end?.dateTime ?? event.end?.date;
  const change = status === 'cancelled' ? 'cancelled' : isNew(created, updated) ? 'created' : 'updated';
  const attendees = (event.attendees ?? []).flatMap(({ email }) => (email ? [email] : []));
  const title = summary ?? 'An event without a title';
  const payload = {
    content: `Calendar: ${title} was ${change}${start ? `, from ${start} to ${end ?? start}` : ''}.`,
    change,
    event: { id, summary, description, location, start, end, attendees, url: htmlLink },
    calendarId,
  };
  return {
    topic: 'message.inbound.cloud.calendar',
    payload: JSON.parse(JSON.stringify(payload)),
    id: derivedId(`${calendarId} ${id}`, updated ?? status ?? ''),
    source: { interface: 'cloud', channelId: calendarId },
  };
}

/** The first save sets the two times a moment apart. */
function isNew(created: string | null | undefined, updated: string | null | undefined): boolean {
  return Math.abs(Date.parse(updated ?? '') - Date.parse(created ?? '')) < 2000;
}
