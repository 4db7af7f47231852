import { AuditLog } from '@trunkline/audit';
import { type Environment, helpText, readOptions, secretStoreOf } from '@trunkline/config';
import { Policy } from '@trunkline/policy';
import { createSandbox } from '@trunkline/sandbox';
import { checkAuditLog, checkPosture, type SecurityFinding } from '@trunkline/service';
import type { AuditEntry } from '@trunkline/std';
import { readServiceOptions } from '../fleet/service-options.ts';
import { upOptions } from '../options.ts';
import { checkPlainSecrets, importOptions } from '../secrets/import-secrets.ts';
import {
  configuredTools,
  listedApprovers,
  listedExposures,
  trustedSenders,
  waitingDescriptions,
} from './audit-files.ts';
import { renderDiagnosis } from './doctor.ts';

const usage = 'trunkline audit [--fix | log | verify | export]';
const SHOWN = 50;

/** Looks for weak spots of the installation, or shows the audit log; the exit code is 1 when something is wrong. */
export async function main(argv: readonly string[], env: Environment): Promise<number> {
  if (argv.includes('--help') || argv.includes('-h')) {
    console.log(
      [
        helpText(usage, upOptions),
        '',
        '  (nothing)  look for exposed services, weak keys, readable files, secrets in files, tools that need no asking, unpaired approvers, old packages',
        '  --fix      mend what can be mended without a decision of yours',
        `  log        the newest ${SHOWN} entries of the audit log of all services`,
        '  verify     recompute the hash chain of the audit log',
        '  export     the whole audit log as JSON lines',
      ].join('\n'),
    );
    return 0;
  }
  const [action] = argv.filter((word) => !word.startsWith('-'));
  const flags = argv.filter((word) => word !== '--fix' && word !== action);
  const options = readOptions(upOptions, { argv: flags, env });
  if (action === undefined) {
    const services = readServiceOptions(options, env);
    const { trunklineHome: home, trunklineOpen: isOpen } = options;
    const policy = new Policy({ home, logger: { info: () => undefined, error: () => undefined } }).config;
    const tools = await configuredTools(home, services);
    const findings = await checkPosture({
      home,
      isOpen,
      services: await listedExposures({ home, isOpen }, services, env),
      sandbox: await createSandbox({
        mode: services.agent.sandbox,
        image: services.agent.sandboxImage,
      }).status(),
      policy,
      tools,
      approvers: await listedApprovers(home, services),
      senders: await trustedSenders(home, services),
    });
    findings.push(waitingDescriptions(tools, policy));
    findings.push(checkPlainSecrets(importOptions(home, env, secretStoreOf(env))));
    return await report(findings, argv.includes('--fix'));
  }
  if (action === 'log') return await showLog(options.trunklineHome);
  if (action === 'verify') return await report(await checkAuditLog(options.trunklineHome), false);
  if (action === 'export') return await exportLog(options.trunklineHome);
  console.error(`Usage: ${usage}`);
  return 2;
}

async function report(findings: readonly SecurityFinding[], isFixing: boolean): Promise<number> {
  let failed = false;
  for (const finding of findings) {
    console.log(renderDiagnosis(finding));
    if (isFixing && finding.fix !== undefined) console.log(`fixed   ${await finding.fix()}`);
    else failed ||= finding.state === 'failed';
  }
  return failed ? 1 : 0;
}

async function showLog(home: string): Promise<number> {
  const log = new AuditLog({ home, logger: console });
  const entries = log.list({ limit: SHOWN });
  if (entries.length === 0) console.log('Nothing is recorded yet.');
  for (const entry of entries.reverse()) console.log(line(entry));
  log.close();
  return 0;
}

function line({ at, service, principal, via, action, subject, decision, rule, result }: AuditEntry): string {
  const who = [principal, ...via].join(' > ');
  const parts = [at, service, who, action, subject, decision, rule && `(${rule})`, result];
  // A subject comes from a caller or a model: nothing in it may move the cursor.
  return parts
    .filter(Boolean)
    .join('  ')
    .replace(/\p{Cc}|\p{Cf}/gu, '\ufffd');
}

async function exportLog(home: string): Promise<number> {
  const log = new AuditLog({ home, logger: console });
  for await (const page of log.pages()) for (const entry of page) console.log(JSON.stringify(entry));
  log.close();
  return 0;
}
