// Prints the software bill of materials (CycloneDX 1.6, JSON) of what runs with Trunkline, made from the lock file.
// With --check, fails when a package comes under a licence that is not accepted.
import { join } from 'node:path';
import { refusedLicences, softwareBillOfMaterials } from './docs/supply-chain.ts';

const lockFile = join(process.cwd(), 'package-lock.json');
if (process.argv.includes('--check')) {
  const refused = refusedLicences(lockFile);
  for (const line of refused) console.error(`Licence not accepted: ${line}`);
  if (refused.length > 0) {
    console.error('Choose another package, or accept the licence in scripts/docs/supply-chain.ts.');
  }
  process.exitCode = refused.length > 0 ? 1 : 0;
} else {
  console.log(JSON.stringify(softwareBillOfMaterials(lockFile), null, 2));
}
