import { createLogger } from '@trunkline/config';
import { anonymous } from '@trunkline/identity';
import { FakeClock } from '@trunkline/testing';
import { expect, it } from 'vitest';
import type { LineMessage } from '../call/line.ts';
import type { Channel, PeerEvents, PeerState } from './peer.ts';
import { PeerLine } from './peer-line.ts';

const logger = createLogger({ name: 'test', level: 'ERROR', destination: { write: () => undefined } });
const why: LineMessage = { type: 'error', data: { message: 'no model', fatal: true } };

/** A line that is connected and closed at once with last words, as one that nobody can answer. */
function refused({ opensFirst }: { opensFirst: boolean }) {
  const clock = new FakeClock(0);
  let events: PeerEvents | undefined;
  let isClosed = false;
  let released = 0;
  let state: PeerState = 'connecting';
  const sent: string[] = [];
  const channel: Channel = { madeBy: 'server', waiting: 0, send: (text) => void sent.push(text) };
  const line = new PeerLine({
    id: 'l',
    user: { id: 'u', name: 'u' } as never,
    principal: anonymous,
    stillStands: () => true,
    requestData: undefined,
    ticket: undefined,
    makePeer: (given) => {
      events = given;
      return {
        get state() {
          return state;
        },
        close: () => {
          isClosed = true;
        },
        packetsReceived: async () => 0,
      } as never;
    },
    pacer: { leadMs: 0, add: () => () => undefined, nudge: () => undefined } as never,
    clock,
    mediaClock: clock,
    logger,
    onConnected: (begun) => begun.close('the call cannot be answered', why),
    onReleased: () => {
      released += 1;
    },
    onLate: () => undefined,
  });
  const heard: LineMessage[] = [];
  line.onMessage((message) => heard.push(message));
  const open = () => events?.channelOpened(channel);
  state = 'connected';
  if (opensFirst) open();
  else events?.stateChanged();
  return {
    advance: (ms: number) => clock.advanceBy(ms),
    open,
    hangUp: () => events?.channelClosed(channel),
    lose: () => {
      state = 'lost';
      events?.stateChanged();
    },
    say: (text: string) => events?.message(channel, text),
    end: () => line.end('the service stops'),
    pendingTimers: () => clock.pendingTimers,
    released: () => released,
    heard,
    sent: () => sent.filter((text) => text.startsWith('{')).map((text) => JSON.parse(text)),
    isClosed: () => isClosed,
  };
}

it('keeps a connection for last words until its channel is open, and then until the client hangs up', async () => {
  const line = refused({ opensFirst: false });
  await line.advance(9000);
  expect([line.sent(), line.isClosed()]).toEqual([[], false]);
  line.open();
  expect(line.sent()).toEqual([{ label: 'rtvi-ai', ...why }]);
  await line.advance(2000);
  expect(line.isClosed()).toBe(false);
  line.hangUp();
  expect(line.isClosed()).toBe(true);
});

it.each([
  ['whose channel never opens', { opensFirst: false }, 10_000],
  ['whose client does not hang up', { opensFirst: true }, 3000],
])('lets a connection go %s', async (_, how, limitMs) => {
  const line = refused(how);
  await line.advance(limitMs - 1);
  expect(line.isClosed()).toBe(false);
  await line.advance(1);
  expect(line.isClosed()).toBe(true);
});

it('lets a connection go that is lost before it has the last words, and hears nothing meanwhile', () => {
  const line = refused({ opensFirst: true });
  line.say(JSON.stringify({ label: 'rtvi-ai', type: 'client-ready' }));
  expect([line.heard, line.isClosed()]).toEqual([[], false]);
  line.lose();
  expect(line.isClosed()).toBe(true);
});

it('leaves nothing behind where the service stops while last words are on their way', () => {
  const line = refused({ opensFirst: false });
  expect([line.isClosed(), line.released()]).toEqual([false, 0]);
  line.end();
  line.end();
  expect([line.isClosed(), line.released()]).toEqual([true, 1]);
  expect(line.pendingTimers()).toBe(0);
});
