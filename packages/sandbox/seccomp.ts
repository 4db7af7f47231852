/** The part of an architecture that a filter must know. */
export interface SyscallTable {
  /** `AUDIT_ARCH_*` of the kernel. */
  audit: number;
  /** System calls from this number on belong to another ABI (x32). */
  foreignFrom?: number;
  clone: number;
  clone3: number;
  ioctl: number;
  socket: number;
  /** Fail with EPERM. */
  denied: readonly number[];
  /** Fail with ENOSYS, so that programs fall back to older calls. */
  absent: readonly number[];
}

/** Numbers that all architectures share: pidfd_getfd, process_madvise, the new mount calls, quotactl_fd. */
const DENIED_EVERYWHERE = [438, 440, 428, 429, 430, 431, 432, 433, 442, 443, 467];

/** io_uring, which does its work past this filter. */
const ABSENT_EVERYWHERE = [425, 426, 427];

export const syscallTables: Readonly<Record<string, SyscallTable>> = {
  x64: {
    audit: 0xc000003e,
    foreignFrom: 0x40000000,
    clone: 56,
    clone3: 435,
    ioctl: 16,
    socket: 41,
    denied: [
      ...[101, 310, 311, 312], // ptrace, process_vm_readv, process_vm_writev, kcmp
      ...[165, 166, 155, 161], // mount, umount2, pivot_root, chroot
      ...[248, 249, 250], // add_key, request_key, keyctl
      ...[321, 298, 323], // bpf, perf_event_open, userfaultfd
      ...[246, 320, 175, 313, 176, 174, 177, 178], // kexec_load, kexec_file_load, modules
      ...[272, 308], // unshare, setns
      ...[303, 304], // name_to_handle_at, open_by_handle_at
      ...[167, 168, 169, 170, 171], // swapon, swapoff, reboot, sethostname, setdomainname
      ...[103, 163, 179, 212, 180, 153], // syslog, acct, quotactl, lookup_dcookie, nfsservctl, vhangup
      ...[164, 227, 159, 305], // the clock
      ...[172, 173, 154, 134], // iopl, ioperm, modify_ldt, uselib
      ...[256, 279], // migrate_pages, move_pages
      ...DENIED_EVERYWHERE,
    ],
    absent: ABSENT_EVERYWHERE,
  },
  arm64: {
    audit: 0xc00000b7,
    clone: 220,
    clone3: 435,
    ioctl: 29,
    socket: 198,
    denied: [
      ...[117, 270, 271, 272], // ptrace, process_vm_readv, process_vm_writev, kcmp
      ...[40, 39, 41, 51], // mount, umount2, pivot_root, chroot
      ...[217, 218, 219], // add_key, request_key, keyctl
      ...[280, 241, 282], // bpf, perf_event_open, userfaultfd
      ...[104, 294, 105, 273, 106], // kexec_load, kexec_file_load, modules
      ...[97, 268], // unshare, setns
      ...[264, 265], // name_to_handle_at, open_by_handle_at
      ...[224, 225, 142, 161, 162], // swapon, swapoff, reboot, sethostname, setdomainname
      ...[116, 89, 60, 18, 42, 58], // syslog, acct, quotactl, lookup_dcookie, nfsservctl, vhangup
      ...[170, 112, 171, 266], // the clock
      ...[238, 239], // migrate_pages, move_pages
      ...DENIED_EVERYWHERE,
    ],
    absent: ABSENT_EVERYWHERE,
  },
};

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const errno = (code: number) => 0x00050000 + code;

/** Opcodes of classic BPF: load a word at an offset, jump on a comparison, return. */
const LOAD = 0x20;
const JUMP_EQUAL = 0x15;
const JUMP_AT_LEAST = 0x35;
const JUMP_ANY_BIT = 0x45;
const RETURN = 0x06;

/** Offsets in `struct seccomp_data`; of the arguments the lower half, as both architectures are little-endian. */
const NUMBER_OFFSET = 0;
const ARCH_OFFSET = 4;
const FIRST_ARGUMENT = 16;
const SECOND_ARGUMENT = 24;

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. */
const NEW_NAMESPACES = 0x7e020000;

/** TIOCSTI and TIOCLINUX put characters into the input of a terminal. */
const TERMINAL_INJECTION = [0x5412, 0x541c];

/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. Others, such as AF_VSOCK, know no network namespace. */
const SOCKET_FAMILIES = [1, 2, 10, 16];

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

/** The seccomp filter as the kernel takes it, or undefined for an architecture that has no table. */
export function seccompFilter(architecture: string): Buffer | undefined {
  const table = syscallTables[architecture];
  return table === undefined ? undefined : assemble(instructions(table));
}

function instructions(table: SyscallTable): Instruction[] {
  const { audit, foreignFrom, clone, clone3, ioctl, socket, denied, absent } = table;
  const returns = (value: number): Instruction => [RETURN, 0, 0, value];
  const load = (offset: number): Instruction => [LOAD, 0, 0, offset];
  /** Runs the body only for this value of what was loaded last. */
  const when = (code: number, value: number, body: readonly Instruction[]): Instruction[] => [
    [code, 0, body.length, value],
    ...body,
  ];
  const refuse = (number: number, code: number) => when(JUMP_EQUAL, number, [returns(errno(code))]);
  return [
    load(ARCH_OFFSET),
    [JUMP_EQUAL, 1, 0, audit],
    returns(KILL_PROCESS),
    load(NUMBER_OFFSET),
    ...(foreignFrom === undefined ? [] : when(JUMP_AT_LEAST, foreignFrom, [returns(errno(ENOSYS))])),
    ...denied.flatMap((number) => refuse(number, EPERM)),
    ...[clone3, ...absent].flatMap((number) => refuse(number, ENOSYS)),
    ...when(JUMP_EQUAL, clone, [
      load(FIRST_ARGUMENT),
      ...when(JUMP_ANY_BIT, NEW_NAMESPACES, [returns(errno(EPERM))]),
      returns(ALLOW),
    ]),
    ...when(JUMP_EQUAL, ioctl, [
      load(SECOND_ARGUMENT),
      ...TERMINAL_INJECTION.flatMap((request) => refuse(request, EPERM)),
      returns(ALLOW),
    ]),
    ...when(JUMP_EQUAL, socket, [
      load(FIRST_ARGUMENT),
      ...SOCKET_FAMILIES.flatMap((family) => when(JUMP_EQUAL, family, [returns(ALLOW)])),
      returns(errno(EAFNOSUPPORT)),
    ]),
    returns(ALLOW),
  ];
}

/** `struct sock_filter`: a 16-bit code, two 8-bit jumps and a 32-bit value each. */
function assemble(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, [code, ifTrue, ifFalse, value]] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(ifTrue, index * 8 + 2);
    bytes.writeUInt8(ifFalse, index * 8 + 3);
    bytes.writeUInt32LE(value, index * 8 + 4);
  }
  return bytes;
}
