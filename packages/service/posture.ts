import { chmodSync, type Dirent, lstatSync, type Stats } from 'node:fs';
import { lstat, readdir, readFile } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { nameOnSurface, openAccounts } from '@trunkline/accounts';
import { AuditLog, auditFile } from '@trunkline/audit';
import { operatorKeyFile } from '@trunkline/identity';
import type { PolicyConfig } from '@trunkline/policy';
import type { SandboxStatus } from '@trunkline/sandbox';
import { errorMessage } from '@trunkline/std';
import { checkKeys, checkPorts, type Exposure } from './exposure.ts';
import { checkPackages } from './packages.ts';
import { type ToolTrust, toolFindings } from './posture-tools.ts';
import type { Diagnosis } from './service.ts';

/** A finding that may know how to mend itself. */
export interface SecurityFinding extends Diagnosis {
  /** Mends it, and gives what was done. */
  fix?: () => string | Promise<string>;
}

export interface PostureInput {
  home: string;
  /** TRUNKLINE_OPEN. */
  isOpen: boolean;
  services: readonly Exposure[];
  sandbox: SandboxStatus;
  policy: PolicyConfig;
  /** Undefined where that is not known. */
  tools?: ToolTrust;
  /** Identities that may approve beside the operator, and the file that lists them; undefined where that is not known. */
  approvers?: readonly { identity: string; file: string }[];
  /** Whom the surfaces trust without pairing; undefined where that is not known. */
  senders?: UnpairedTrust;
}

export interface UnpairedTrust {
  pairing: 'required' | 'off';
  /** Channels of `channels.yaml` with `trustMembers`, by id. */
  trustedChannels: readonly string[];
}

const ROOT = join(import.meta.dirname, '../..');

/** Everything that `trunkline audit` and the trust page look at. Reads files, and changes nothing. */
export async function checkPosture(input: PostureInput): Promise<SecurityFinding[]> {
  const { home } = input;
  return [
    ...checkAccess(input),
    ...checkKeys(input.services),
    sandboxFinding(input.sandbox),
    ...toolFindings(input.policy, input.tools),
    ...(input.approvers === undefined ? [] : [approverFinding(home, input.approvers)]),
    ...(input.senders === undefined ? [] : [senderFinding(input.senders)]),
    ...(await checkFiles(home, join(process.cwd(), '.env'))),
    ...(await checkPackages(ROOT)),
    ...(await checkAuditLog(home)),
  ];
}

/** Who may configure the services and approve what agents do, and who may come in without a key. */
export function checkAccess(input: Pick<PostureInput, 'home' | 'isOpen' | 'services'>): SecurityFinding[] {
  return [checkKey(input), ...checkPorts(input.services)];
}

function checkKey({ home, isOpen }: Pick<PostureInput, 'home' | 'isOpen'>): SecurityFinding {
  const subject = "operator's key";
  if (isOpen) {
    const words = 'TRUNKLINE_OPEN=1: whoever reaches a service may configure it and approve commands.';
    return { subject, state: 'warning', words, advice: 'Unset it unless this machine is thrown away later.' };
  }
  const path = operatorKeyFile(home);
  const mode = modeOf(path);
  if (mode === undefined)
    return { subject, state: 'ok', words: `is created in ${path} when a service starts.` };
  if ((mode & 0o077) === 0) return { subject, state: 'ok', words: `${path}, readable for you only.` };
  const words = `other accounts of this machine can read ${path} (mode ${mode.toString(8)}).`;
  const advice = 'Delete it and restart: a new one is created, and every browser signs in again.';
  return { subject, state: 'failed', words, advice };
}

/** Where programs run that models, plugins and configurations choose. */
function sandboxFinding({ isolated, refuses, words, advice }: SandboxStatus): SecurityFinding {
  const state = isolated || refuses ? 'ok' : 'warning';
  return { subject: 'sandbox', state, words, ...(state !== 'ok' && advice && { advice }) };
}

/** Whoever may approve should be somebody whom the operator has paired. */
function approverFinding(home: string, approvers: NonNullable<PostureInput['approvers']>): SecurityFinding {
  const subject = 'approvers';
  if (approvers.length === 0) return { subject, state: 'ok', words: 'only the operator may approve.' };
  const accounts = openAccounts({ home, logger: console });
  try {
    const names = new Set(accounts.list().flatMap(({ identities }) => identities.map(nameOnSurface)));
    const unpaired = approvers.filter(
      ({ identity }) => accounts.byIdentity(identity) === undefined && !names.has(identity),
    );
    if (unpaired.length === 0)
      return {
        subject,
        state: 'ok',
        words: `${approvers.length} listed, each of them a person with an account.`,
      };
    const named = unpaired.map(({ identity, file }) => `${identity} (${file})`).join(', ');
    const words = `may approve and belongs to no account: ${named}.`;
    const advice = 'Link the identity to its person under People, or take it off the list.';
    return { subject, state: 'warning', words, advice };
  } finally {
    accounts.close();
  }
}

/** Who uses agents and their tools on chat without having been paired. */
function senderFinding({ pairing, trustedChannels }: UnpairedTrust): SecurityFinding {
  const subject = 'senders';
  if (pairing === 'off')
    return {
      subject,
      state: 'warning',
      words: 'PAIRING=off: whoever can write to the bots uses the agents and all their tools.',
      advice: 'Unset PAIRING, and pair the people whom you know.',
    };
  if (trustedChannels.length === 0)
    return { subject, state: 'ok', words: 'whoever is not paired or listed gets no tool with effects.' };
  return {
    subject,
    state: 'warning',
    words: `everybody who can write in ${trustedChannels.join(', ')} uses the agents there and all their tools (trustMembers).`,
    advice:
      'Remove trustMembers from channels.yaml and pair the people, or see to it that only they can join.',
  };
}

const MAX_FILES = 20_000;
const MAX_SCANNED_BYTES = 256 * 1024;
const MAX_NAMED = 5;
const MAX_PATH = 300;
const TEXT_FILES = new Set(['.yaml', '.yml', '.json', '.md', '.txt', '.env', '.toml', '.ini']);

/** Keys as their issuers write them, so that ordinary text is not suspected. */
const KEY_FORMS = [
  /\bsk-[A-Za-z0-9_-]{20,}/,
  /\bgh[pousr]_[A-Za-z0-9]{30,}/,
  /\bgithub_pat_[A-Za-z0-9_]{30,}/,
  /\bxox[abprs]-[A-Za-z0-9-]{20,}/,
  /\bAKIA[0-9A-Z]{16}\b/,
  /\bAIza[A-Za-z0-9_-]{35}\b/,
  /\blin_api_[A-Za-z0-9]{30,}/,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----/,
];

/** Which data other accounts of this machine can read, and where keys stand in plain text. */
async function checkFiles(home: string, environmentFile: string): Promise<SecurityFinding[]> {
  const unread = new Map<string, string>();
  const { files, isWhole } = await listFiles(home, unread);
  const findings = [
    readableFinding('data directory', [{ path: home, stats: statsOf(home) }, ...files], home),
    readableFinding('.env', [{ path: environmentFile, stats: statsOf(environmentFile) }], environmentFile),
    await secretsFinding(files, unread),
  ];
  if (unread.size > 0) findings.push(unreadFinding(unread));
  if (!isWhole) {
    const words = `only the first ${MAX_FILES} files of ${home} were looked at.`;
    findings.push({ subject: 'data directory', state: 'warning', words });
  }
  return findings;
}

interface Entry {
  path: string;
  stats: Stats | undefined;
}

/** A closed directory protects everything in it, whatever the modes below say. */
function readableFinding(subject: string, entries: readonly Entry[], root: string): SecurityFinding {
  const readable = entries.filter(({ stats }) => ((stats?.mode ?? 0) & 0o077) !== 0).map(({ path }) => path);
  if (readable.length === 0 || !readable.includes(root))
    return { subject, state: 'ok', words: `${root} is closed to other accounts, or does not exist.` };
  return {
    subject,
    state: 'warning',
    words: `other accounts of this machine can look into ${root} (${readable.length} readable).`,
    advice: 'Run "npx trunkline audit --fix" to take the rights of group and others away.',
    fix: () => {
      for (const path of readable) chmodSync(path, (modeOf(path) ?? 0o600) & 0o700);
      return `took the rights of group and others from ${readable.length} under ${root}.`;
    },
  };
}

async function secretsFinding(files: readonly Entry[], unread: Unread): Promise<SecurityFinding> {
  const subject = 'secrets in files';
  const found: string[] = [];
  for (const { path, stats } of files)
    if (stats?.isFile() && TEXT_FILES.has(extname(path)) && (await holdsKey(path, stats.size, unread)))
      found.push(path);
  if (found.length === 0) return { subject, state: 'ok', words: 'none found in text files of the home.' };
  const named = found.slice(0, MAX_NAMED).join(', ');
  const more = found.length > MAX_NAMED ? ` and ${found.length - MAX_NAMED} more` : '';
  return {
    subject,
    state: 'warning',
    words: `what looks like a key stands in ${named}${more}.`,
    advice: 'Put it into a variable and let the file name that; change the key if agents could read it.',
  };
}

async function holdsKey(path: string, size: number, unread: Unread): Promise<boolean> {
  if (size > MAX_SCANNED_BYTES) return false;
  const text = await readFile(path, 'utf8').catch(noting(unread, path, ''));
  return KEY_FORMS.some((form) => form.test(text));
}

/** Files and folders below, links and special files left out. Reads one by one, so that a running service goes on. */
async function listFiles(root: string, unread: Unread): Promise<{ files: Entry[]; isWhole: boolean }> {
  const files: Entry[] = [];
  const open = [root];
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    const entries = await readdir(folder, { withFileTypes: true }).catch(
      noting<Dirent[]>(unread, folder, []),
    );
    for (const entry of entries) {
      if (files.length >= MAX_FILES) return { files, isWhole: false };
      const path = join(folder, entry.name);
      if (entry.isDirectory()) open.push(path);
      if (entry.isDirectory() || entry.isFile())
        files.push({
          path,
          stats: await lstat(path).catch(noting<Stats | undefined>(unread, path, undefined)),
        });
    }
  }
  return { files, isWhole: true };
}

/** What could not be looked at, and why. */
type Unread = Map<string, string>;

/** Programs can make folders that nobody can read or that lie too deep: the check goes on, and says so. */
function noting<Value>(unread: Unread, path: string, value: Value): (error: NodeJS.ErrnoException) => Value {
  return (error) => {
    // A running service may have removed it meanwhile.
    if (error.code !== 'ENOENT') unread.set(path, error.code ?? errorMessage(error));
    return value;
  };
}

function unreadFinding(unread: Unread): SecurityFinding {
  const named = [...unread].slice(0, MAX_NAMED).map(([path, code]) => `${shortPath(path)} (${code})`);
  const more = unread.size > MAX_NAMED ? ` and ${unread.size - MAX_NAMED} more` : '';
  return {
    subject: 'data directory',
    state: 'warning',
    words: `could not be looked at: ${named.join(', ')}${more}.`,
    advice: 'Look who made it and why; keys in there are not found, and other accounts may read it.',
  };
}

function shortPath(path: string): string {
  return path.length > MAX_PATH ? `${path.slice(0, MAX_PATH)}…` : path;
}

function statsOf(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

function modeOf(path: string): number | undefined {
  const mode = statsOf(path)?.mode;
  return mode === undefined ? undefined : mode & 0o777;
}

/** Whether the chain of the audit log is whole. */
export async function checkAuditLog(home: string): Promise<SecurityFinding[]> {
  const subject = 'audit log';
  const file = auditFile(home);
  if (modeOf(file) === undefined) return [{ subject, state: 'ok', words: 'nothing recorded yet.' }];
  const log = new AuditLog({ home, logger: console });
  try {
    const { entries, head, brokenAt } = await log.verify();
    if (brokenAt === undefined)
      return [
        { subject, state: 'ok', words: `${entries} entries, chain whole, head ${head.slice(0, 16)}….` },
      ];
    const words = `entry ${brokenAt} of ${file} was changed, or an entry before it was removed.`;
    const advice = 'Somebody wrote to the file. Compare with a backup, and change the keys of this machine.';
    return [{ subject, state: 'failed', words, advice }];
  } catch (error) {
    const advice = `Restore ${basename(file)} from a backup, or move it away: a new log is started.`;
    return [{ subject, state: 'failed', words: errorMessage(error), advice }];
  } finally {
    log.close();
  }
}
