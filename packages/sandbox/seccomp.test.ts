import { describe, expect, it } from 'vitest';
import { seccompFilter, syscallTables } from './seccomp.ts';

const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const EPERM = 0x00050001;
const ENOSYS = 0x00050026;
const EAFNOSUPPORT = 0x00050061;

/** Runs the filter as the kernel does: on the number, the architecture and the arguments of one call. */
function verdict(filter: Buffer, audit: number, number: number, args: readonly number[] = []): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number, 0);
  data.writeUInt32LE(audit, 4);
  for (const [index, value] of args.entries()) data.writeBigUInt64LE(BigInt(value), 16 + index * 8);
  let accumulator = 0;
  for (let at = 0; ; at += 1) {
    const code = filter.readUInt16LE(at * 8);
    const value = filter.readUInt32LE(at * 8 + 4);
    if (code === 0x06) return value;
    if (code === 0x20) {
      accumulator = data.readUInt32LE(value);
      continue;
    }
    const isTrue =
      (code === 0x15 && accumulator === value) ||
      (code === 0x35 && accumulator >= value) ||
      (code === 0x45 && (accumulator & value) !== 0);
    at += filter.readUInt8(at * 8 + (isTrue ? 2 : 3));
  }
}

describe.each(Object.entries(syscallTables))('the seccomp filter of %s', (name, table) => {
  const filter = seccompFilter(name)!;
  const ask = (number: number, ...args: number[]) => verdict(filter, table.audit, number, args);

  it('refuses what reaches into other processes or the kernel, and lets the rest through', () => {
    for (const number of table.denied) expect(ask(number), `${number}`).toBe(EPERM);
    for (const number of [table.clone3, ...table.absent]) expect(ask(number), `${number}`).toBe(ENOSYS);
    const special = new Set([...table.denied, ...table.absent, table.clone3, table.socket]);
    for (let number = 0; number < 470; number += 1)
      if (!special.has(number)) expect(ask(number), `${number}`).toBe(ALLOW);
  });

  it('refuses new namespaces, but neither processes nor threads', () => {
    for (const flag of [0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000])
      expect(ask(table.clone, flag + 17), flag.toString(16)).toBe(EPERM);
    // fork, and pthread_create of glibc.
    expect(ask(table.clone, 0x01200011)).toBe(ALLOW);
    expect(ask(table.clone, 0x003d0f00)).toBe(ALLOW);
  });

  it('refuses to type into a terminal, also with bits that the kernel ignores', () => {
    expect(ask(table.ioctl, 0, 0x5412)).toBe(EPERM);
    expect(ask(table.ioctl, 0, 0x541c)).toBe(EPERM);
    expect(ask(table.ioctl, 0, 0x5412 + 2 ** 32)).toBe(EPERM);
    expect(ask(table.ioctl, 0, 0x5413)).toBe(ALLOW);
  });

  it('knows only kinds of sockets that stay in their network namespace', () => {
    for (const family of [1, 2, 10, 16]) expect(ask(table.socket, family, 1), `${family}`).toBe(ALLOW);
    for (const family of [17, 38, 40, 44])
      expect(ask(table.socket, family, 1), `${family}`).toBe(EAFNOSUPPORT);
  });

  it('kills a program of another architecture', () => {
    for (const audit of [0x40000003, 0x40000028, ...others(table.audit)])
      expect(verdict(filter, audit, 0)).toBe(KILL);
  });
});

it('has an answer for the second numbers of x86-64', () => {
  const x32 = 0x40000000 + 101;
  expect(verdict(seccompFilter('x64')!, syscallTables.x64!.audit, x32)).toBe(ENOSYS);
});

it('is not there for an architecture without a table', () => {
  expect(seccompFilter('riscv64')).toBeUndefined();
});

function others(own: number): number[] {
  return Object.values(syscallTables).flatMap(({ audit }) => (audit === own ? [] : [audit]));
}
