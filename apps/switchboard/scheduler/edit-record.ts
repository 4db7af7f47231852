import type { ChangeNote, ControlPlane } from '../control/control-plane.ts';
import { ControlPlaneError } from '../control/control-plane-error.ts';
import type { CronFolder } from './cron-folder.ts';

const mostAttempts = 3;

/** Changes the text of a record; what is edited by hand meanwhile is read again, what is removed stays away. Says whether it is there. */
export async function editRecord(
  { folder, controlPlane }: { folder: CronFolder; controlPlane: ControlPlane },
  id: string,
  change: (text: string) => string,
  note: ChangeNote,
): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    const from = folder.get(id) && folder.text(id);
    if (from === undefined) return false;
    try {
      await controlPlane.editText('cron', id, { from, to: change(from) }, note);
      folder.refresh(id);
      return true;
    } catch (error) {
      const isOvertaken = error instanceof ControlPlaneError && error.code === 'change_overtaken';
      if (!isOvertaken || attempt === mostAttempts) throw error;
    }
  }
}
