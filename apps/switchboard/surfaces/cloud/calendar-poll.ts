import type { calendar_v3 } from '@googleapis/calendar';
import type { Bus, Draft } from '@trunkline/bus';
import { derivedId } from '../../core/derived-id.ts';
import { fromSurface } from '../../core/principals.ts';
import { type CloudAccount, CloudError } from './account.ts';
import type { PollState } from './poll-state.ts';

export interface CalendarPoll {
  account: CloudAccount;
  bus: Bus;
  state: PollState;
}

const gone = 410;
/** As many as the calendar gives at once: one of an organisation can hold tens of thousands. */
const pageSize = 2500;
const mostPages = 100;

/** Publishes what changed in the calendar since the last time; the first time it only takes note of where it stands. */
export async function pollCalendar(
  { account, bus, state }: CalendarPoll,
  calendarId: string,
  signal: AbortSignal,
): Promise<void> {
  const name = `calendar ${calendarId}`;
  const syncToken = await state.mark(name);
  try {
    const { events, next } = await readChanges(account, calendarId, syncToken, signal);
    for (const event of events) await bus.publish(fromSurface(draftOf(event, calendarId)));
    if (next !== undefined) await state.setMark(name, next);
  } catch (error) {
    // The mark is too old: what happened since then cannot be told apart from what was known.
    if (!(error instanceof CloudError) || error.status !== gone) throw error;
    await state.clearMark(name);
    await pollCalendar({ account, bus, state }, calendarId, signal);
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
    // The first time only the mark counts.
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

/** The two times differ by the moment that the first save took. */
function isNew(created: string | null | undefined, updated: string | null | undefined): boolean {
  return Math.abs(Date.parse(updated ?? '') - Date.parse(created ?? '')) < 2000;
}
