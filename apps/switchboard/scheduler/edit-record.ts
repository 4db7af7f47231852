import type { ChangeNote, Registrar } from '../control/registrar.ts';
import { RegistrarError } from '../control/registrar-error.ts';
import type { CronFolder } from './cron-folder.ts';

const mostAttempts = 3;

/** Changes the text of a record; what is edited by hand meanwhile is read again, what is removed stays away. Says whether it is there. */
export async function editRecord(
  { folder, registrar }: { folder: CronFolder; registrar: Registrar },
  id: string,
  change: (text: string) => string,
  note: ChangeNote,
): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    const from = folder.get(id) && folder.text(id);
    if (from === undefined) return false;
    try {
      await registrar.editText('cron', id, { from, to: change(from) }, note);
      folder.refresh(id);
      return true;
    } catch (error) {
      const isOvertaken = error instanceof RegistrarError && error.code === 'change_overtaken';
      if (!isOvertaken || attempt === mostAttempts) throw error;
    }
  }
}
