import { type Environment, helpText, readOptions } from '@trunkline/config';
import type { Diagnosis } from '@trunkline/service';
import { diagnoseSurfaces } from '@trunkline/switchboard';
import { diagnoseCalls, diagnoseSpeech } from '@trunkline/voice';
import { checkBus } from '../doctor/bus.ts';
import { checkDirectories } from '../doctor/directories.ts';
import { checkModel } from '../doctor/model.ts';
import { checkOperator } from '../doctor/operator.ts';
import { checkPorts } from '../doctor/ports.ts';
import { renderDiagnosis } from '../doctor/render.ts';
import { readServiceOptions } from '../fleet/service-options.ts';
import { upOptions } from '../options.ts';

/** Looks at everything that the services need and says what to do about each; the exit code is 1 when something failed. */
export async function main(argv: readonly string[], env: Environment): Promise<number> {
  if (argv.includes('--help') || argv.includes('-h')) {
    console.log(helpText('trunkline doctor', upOptions));
    return 0;
  }
  const options = readOptions(upOptions, { argv, env });
  const services = readServiceOptions(options, env);
  const checks: Promise<Diagnosis[]>[] = [
    checkModel(services.agent),
    diagnoseCalls(),
    diagnoseSpeech(services.voice),
    checkBus(services.switchboard),
    diagnoseSurfaces(services.switchboard),
    checkPorts(options, services),
    checkDirectories(options.trunklineHome),
    checkOperator(options, services),
  ];
  const findings: Diagnosis[] = [];
  for (const check of checks) {
    for (const finding of await check) {
      findings.push(finding);
      console.log(renderDiagnosis(finding));
    }
  }
  return findings.some(({ state }) => state === 'failed') ? 1 : 0;
}
