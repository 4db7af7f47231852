import { chmodSync, type Dirent, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { AuditLog, auditFile } from '@trunkline/audit';
import { isLoopbackHost } from '@trunkline/http';
import { operatorKeyFile } from '@trunkline/identity';
import type { Diagnosis } from '@trunkline/service';
import { errorMessage } from '@trunkline/std';
import type { ServiceOptions, UpOptions } from '../fleet/service-options.ts';
import { findPlainSecrets, type ImportOptions, importSecrets } from '../secrets/import-secrets.ts';

/** A finding that may know how to mend itself. */
export interface SecurityFinding extends Diagnosis {
  /** Mends it, and gives what was done. */
  fix?: () => string | Promise<string>;
}

/** Who may configure the services and approve what agents do, and who may come in without a key. */
export function checkAccess(options: UpOptions, services: ServiceOptions): SecurityFinding[] {
  return [checkKey(options), ...openServices(services)];
}

function checkKey({ trunklineHome, trunklineOpen }: UpOptions): SecurityFinding {
  const subject = "operator's key";
  if (trunklineOpen) {
    const words = 'TRUNKLINE_OPEN=1: whoever reaches a service may configure it and approve commands.';
    return { subject, state: 'warning', words, advice: 'Unset it unless this machine is thrown away later.' };
  }
  const path = operatorKeyFile(trunklineHome);
  const mode = modeOf(path);
  if (mode === undefined)
    return { subject, state: 'ok', words: `is created in ${path} when a service starts.` };
  if ((mode & 0o077) === 0) return { subject, state: 'ok', words: `${path}, readable for you only.` };
  const words = `other accounts of this machine can read ${path} (mode ${mode.toString(8)}).`;
  const advice = 'Delete it and restart: a new one is created, and every browser signs in again.';
  return { subject, state: 'failed', words, advice };
}

/** Services that take work without a key: right on a machine of one's own, wrong where others reach it. */
function openServices({ agent, research, voice, switchboard }: ServiceOptions): SecurityFinding[] {
  const open = [
    { name: 'agent', host: agent.host, key: agent.authToken, variable: 'A2A_AUTH_TOKEN' },
    { name: 'research', host: research.host, key: research.authToken, variable: 'RESEARCH_AUTH_TOKEN' },
    { name: 'switchboard', host: switchboard.host, key: switchboard.apiKey, variable: 'SWITCHBOARD_API_KEY' },
    { name: 'voice', host: voice.host, key: voice.a2aAuthToken, variable: 'A2A_AUTH_TOKEN' },
  ].filter(({ key }) => key === undefined);
  const exposed = open.filter(({ host }) => !isLoopbackHost(host));
  const found: SecurityFinding[] = exposed.map(({ name, host, variable }) => ({
    subject: `${name} is open`,
    state: 'warning',
    words: `it listens on ${host} and takes work from whoever reaches it.`,
    advice: `Set ${variable}, or let it listen on 127.0.0.1.`,
  }));
  const local = open.filter(({ host }) => isLoopbackHost(host)).map(({ name }) => name);
  if (local.length === 0) return found;
  const words = `every account of this machine may give work to ${local.join(', ')}; settings and approvals need the operator's key.`;
  return [...found, { subject: 'open services', state: 'ok', words }];
}

const MIN_KEY_LENGTH = 20;
const MIN_DIFFERENT = 8;

/** Keys that people chose for our own services; those of other products are theirs to judge. */
export function checkKeys({ agent, research, switchboard, voice }: ServiceOptions): SecurityFinding[] {
  const keys: Record<string, string | undefined> = {
    A2A_AUTH_TOKEN: agent.authToken ?? voice.a2aAuthToken,
    CORE_OPERATOR_TOKEN: agent.operatorToken,
    RESEARCH_AUTH_TOKEN: research.authToken,
    SWITCHBOARD_API_KEY: switchboard.apiKey,
  };
  const set = Object.entries(keys).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const weak = set.filter(([, key]) => key.length < MIN_KEY_LENGTH || new Set(key).size < MIN_DIFFERENT);
  const repeated = set.filter(([, key]) => set.filter(([, other]) => other === key).length > 1);
  const subject = 'keys';
  const findings: SecurityFinding[] = weak.map(([variable]) => ({
    subject,
    state: 'failed',
    words: `${variable} can be guessed: it is short or has few different characters.`,
    advice: 'Take a random one, for example from "openssl rand -base64 32".',
  }));
  if (repeated.length > 0) {
    const names = repeated.map(([variable]) => variable).join(' and ');
    const advice = 'Give each its own: a caller of one service can use the others with it.';
    findings.push({ subject, state: 'warning', words: `${names} have the same value.`, advice });
  }
  if (findings.length > 0) return findings;
  const words = set.length === 0 ? 'no key of our own services is set.' : `${set.length} set, none weak.`;
  return [{ subject, state: 'ok', words }];
}

const MAX_FILES = 20_000;
const MAX_SCANNED_BYTES = 256 * 1024;
const MAX_NAMED = 5;
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
export function checkFiles(home: string, environmentFile: string): SecurityFinding[] {
  const { files, isWhole } = listFiles(home);
  const findings = [
    readableFinding('data directory', [home, ...files], home),
    readableFinding('.env', [environmentFile], environmentFile),
    secretsFinding(files),
  ];
  if (!isWhole) {
    const words = `only the first ${MAX_FILES} files of ${home} were looked at.`;
    findings.push({ subject: 'data directory', state: 'warning', words });
  }
  return findings;
}

/** A closed directory protects everything in it, whatever the modes below say. */
function readableFinding(subject: string, paths: string[], root: string): SecurityFinding {
  const readable = paths.filter((path) => ((modeOf(path) ?? 0) & 0o077) !== 0);
  if (readable.length === 0 || !readable.includes(root))
    return { subject, state: 'ok', words: `${root} is closed to other accounts, or does not exist.` };
  return {
    subject,
    state: 'warning',
    words: `other accounts of this machine can look into ${root} (${readable.length} readable).`,
    advice: 'Run "trunkline audit --fix" to take the rights of group and others away.',
    fix: () => {
      for (const path of readable) chmodSync(path, (modeOf(path) ?? 0o600) & 0o700);
      return `took the rights of group and others from ${readable.length} under ${root}.`;
    },
  };
}

function secretsFinding(files: readonly string[]): SecurityFinding {
  const subject = 'secrets in files';
  const found = files.filter((path) => TEXT_FILES.has(extname(path)) && holdsKey(path));
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

/** Secrets of settings that could stand in the encrypted store. */
export function checkPlainSecrets(options: ImportOptions): SecurityFinding {
  const subject = 'plain secrets';
  try {
    const found = findPlainSecrets(options);
    if (found.length === 0)
      return { subject, state: 'ok', words: 'none in .env and the files of the services.' };
    const files = [...new Set(found.map(({ file }) => file))].slice(0, MAX_NAMED).join(', ');
    return {
      subject,
      state: 'warning',
      words: `${found.length} stand in plain text in ${files}.`,
      advice: 'Run "trunkline secret import" (--dry-run shows what it does), or "trunkline audit --fix".',
      fix: async () =>
        `moved them into the store; the files as they were: ${await importSecrets(found, options)}.`,
    };
  } catch (error) {
    return { subject, state: 'failed', words: errorMessage(error), advice: 'Mend that, then look again.' };
  }
}

function holdsKey(path: string): boolean {
  const { size } = lstatSync(path);
  if (size > MAX_SCANNED_BYTES) return false;
  const text = readFileSync(path, 'utf8');
  return KEY_FORMS.some((form) => form.test(text));
}

/** Files and folders below, links and special files left out. */
function listFiles(root: string): { files: string[]; isWhole: boolean } {
  const files: string[] = [];
  const open = [root];
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    for (const entry of entriesOf(folder)) {
      if (files.length >= MAX_FILES) return { files, isWhole: false };
      const path = join(folder, entry.name);
      if (entry.isDirectory()) open.push(path);
      if (entry.isDirectory() || entry.isFile()) files.push(path);
    }
  }
  return { files, isWhole: true };
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function modeOf(path: string): number | undefined {
  const mode = lstatSync(path, { throwIfNoEntry: false })?.mode;
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

interface Lock {
  packages: Record<string, { version?: string; optional?: boolean; dev?: boolean }>;
}

/** Whether the installed packages are those of the lock file, which is where updates and their fixes arrive. */
export function checkPackages(root: string): SecurityFinding[] {
  const subject = 'packages';
  const wanted = readLock(join(root, 'package-lock.json'));
  const installed = readLock(join(root, 'node_modules/.package-lock.json'));
  if (wanted === undefined || installed === undefined)
    return [{ subject, state: 'ok', words: 'installed without a lock file; nothing to compare with.' }];
  const other = Object.entries(installed.packages).filter(
    ([path, { version }]) =>
      wanted.packages[path] !== undefined && wanted.packages[path]?.version !== version,
  );
  const unknown = Object.keys(installed.packages).filter((path) => wanted.packages[path] === undefined);
  const different = [...other.map(([path]) => path), ...unknown];
  if (different.length === 0)
    return [{ subject, state: 'ok', words: 'what is installed is what the lock file names.' }];
  const named = different.slice(0, MAX_NAMED).map((path) => path.replace(/^.*node_modules\//, ''));
  const words = `${different.length} installed packages are not those of the lock file: ${named.join(', ')}.`;
  return [{ subject, state: 'warning', words, advice: 'Run "npm ci".' }];
}

function readLock(path: string): Lock | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Lock;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
