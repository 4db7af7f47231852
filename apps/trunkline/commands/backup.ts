import { defineOptions, type Environment, helpText, homeOptions, readOptions } from '@trunkline/config';
import { BackupError, copyHome } from '../backup/copy-home.ts';

const backupOptions = defineOptions('backup', 'Backup: copies all data into a new folder', homeOptions);

/** Copies what is below TRUNKLINE_HOME, also while the services run. */
export async function main(argv: readonly string[], env: Environment): Promise<number> {
  const usage = helpText('trunkline backup FOLDER', backupOptions);
  if (argv.includes('--help') || argv.includes('-h')) {
    console.log(usage);
    return 0;
  }
  const [target, ...more] = argv;
  if (target === undefined || target.startsWith('-') || more.length > 0) {
    console.error(usage);
    return 2;
  }
  const { trunklineHome: home } = readOptions(backupOptions, { argv: [], env });
  try {
    const { databases, files, damaged } = await copyHome(home, target);
    console.log(`${databases} databases and ${files} other files of ${home} are now in ${target}.`);
    for (const path of damaged)
      console.error(`${path} is no whole database: it was copied as it is. Keep an older copy of it.`);
    return damaged.length === 0 ? 0 : 1;
  } catch (error) {
    if (!(error instanceof BackupError)) throw error;
    console.error(error.message);
    return 1;
  }
}
