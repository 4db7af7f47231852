import { describe, expect, it } from 'vitest';
import {
  decodePrincipal,
  encodePrincipal,
  handedOn,
  isDirectOperator,
  maySee,
  ownerFilter,
  ownerKey,
  type Principal,
  principalName,
  roleOf,
  schedulesOf,
  withOrigins,
} from './principal.ts';
import { createPrincipalCheck, signPrincipal } from './signed-principal.ts';

const operator: Principal = { kind: 'operator', id: 'operator', via: [] };

it('travels as a header', () => {
  const principal: Principal = {
    kind: 'person',
    id: 'voice:äva\r\n',
    via: ['voice', 'agent'],
    role: 'guest',
  };
  const header = encodePrincipal(principal);
  expect(header).toMatch(/^[\w-]+$/);
  expect(decodePrincipal(header)).toEqual(principal);
});

it.each([
  ['https://e.example/?', 'mail:eve@example.com', 8],
  ['\u0000'.repeat(100), 'mail:eve@example.com', 4],
  ['\u0000'.repeat(100), `mail:${'a'.repeat(2900)}`, 1],
])('travels with origins that are too long, and never without any', (source, id, count) => {
  const long = Array.from({ length: 8 }, (_, index) => ({
    kind: 'x'.repeat(5000),
    source: `${index}${source}`,
  }));
  const principal = withOrigins({ kind: 'person', id, via: ['switchboard'] }, long);
  const decoded = decodePrincipal(encodePrincipal(principal));
  expect(decoded).toMatchObject({ kind: 'person', id });
  expect(decoded?.origins).toHaveLength(count);
});

it('is a schedule where it was stored or signed when schedules were services, with the same things', () => {
  const old: Principal = { kind: 'service', id: 'schedule:tea', via: ['switchboard'] };
  const tea: Principal = { ...old, kind: 'schedule' };
  expect([decodePrincipal(encodePrincipal(old)), decodePrincipal(encodePrincipal(tea))]).toEqual([tea, tea]);
  expect(ownerKey(tea)).toBe(ownerKey(old));
  expect([maySee(tea, ownerKey(old)), maySee(tea, 'service:schedule:other')]).toEqual([true, false]);
  expect(schedulesOf(handedOn(tea, 'schedule:later'))).toEqual(['schedule:tea', 'schedule:later']);
  expect(principalName(tea)).toBe('schedule:tea');
  // Nobody else's id becomes one.
  expect(decodePrincipal(encodePrincipal({ ...tea, id: 'user:ava' }))).toBeUndefined();
  const voice: Principal = { kind: 'service', id: 'voice', via: ['voice'] };
  expect(decodePrincipal(encodePrincipal(voice))).toEqual(voice);
});

it('is the operator in person only before it was handed on', () => {
  expect(isDirectOperator(operator)).toBe(true);
  expect(isDirectOperator(handedOn(operator, 'voice'))).toBe(false);
});

it('sees its own things and those of nobody; the operator all', () => {
  const ava: Principal = { kind: 'person', id: 'user:ava', via: ['voice'] };
  const owners = [ownerKey(ava), 'person:user:bob', 'anonymous', undefined];
  expect(owners.map((owner) => maySee(ava, owner))).toEqual([true, false, true, true]);
  expect(owners.map((owner) => maySee(operator, owner))).toEqual([true, true, true, true]);
  expect([ownerKey(operator), ownerKey({ ...ava, kind: 'approver' })]).toEqual(['operator', ownerKey(ava)]);
  const linked = { ...ava, aliases: ['person:user:bob'] };
  expect(owners.map((owner) => maySee(linked, owner))).toEqual([true, true, true, true]);
  expect(ownerFilter(linked).values).toEqual(['person:user:ava', 'person:user:bob']);
  expect(decodePrincipal(encodePrincipal(linked))).toEqual(ava);
  expect([ownerFilter(ava).values, ownerFilter(operator).values]).toEqual([['person:user:ava'], []]);
  expect([roleOf(ava), roleOf({ ...ava, role: 'guest' }), roleOf(operator)]).toEqual([
    'member',
    'guest',
    'operator',
  ]);
});

describe('decoding', () => {
  const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

  it.each([
    ['nothing', ''],
    ['no JSON', 'abc'],
    ['null', encoded(null)],
    ['an unknown kind', encoded({ kind: 'root', id: 'x', via: [] })],
    ['an unknown role', encoded({ kind: 'person', id: 'x', via: [], role: 'root' })],
    ['no id', encoded({ kind: 'operator', via: [] })],
    ['via that is no list', encoded({ kind: 'operator', id: 'x', via: 'voice' })],
    ['via of other things', encoded({ kind: 'operator', id: 'x', via: [1] })],
    ['a header of any length', encoded({ kind: 'person', id: 'x'.repeat(5000), via: [] })],
  ])('refuses %s', (_, text) => {
    expect(decodePrincipal(text)).toBeUndefined();
  });
});

it('refuses more signed principals than it can remember, and says so', () => {
  let now = 1000;
  const check = createPrincipalCheck('token', 'agent', { now: () => now, most: 2 });
  const sign = () => {
    const subject = { to: 'agent', message: 'Go.' };
    return signPrincipal(handedOn(operator, 'voice'), subject, { token: 'token', now });
  };
  const first = sign();
  for (const claim of [first, sign()]) expect(check(claim, 'Go.')).toHaveProperty('principal');
  expect(check(sign(), 'Go.')).toMatchObject({
    refusal: expect.stringContaining('more than 2'),
    isUntimely: true,
  });
  expect(check(first, 'Go.')).toEqual({ refusal: 'it was used already; send the message anew' });
  now += 5 * 60_000 + 2;
  expect(check(sign(), 'Go.')).toHaveProperty('principal');
});
