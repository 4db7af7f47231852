import { Button, hashRoute } from '@trunkline/ui';
import { Trash2 } from 'lucide-react';
import { useSend, useUndoLast } from '../../shared/useList.ts';

/** Takes an agent of another service out of agents.d. */
export function RemoveRemote({ name }: { name: string }) {
  const send = useSend();
  const undoLast = useUndoLast();
  const remove = async () => {
    const gone = await send(`/api/external-agents/${encodeURIComponent(name)}`, {
      method: 'DELETE',
      title: `${name} is removed.`,
      undo: () => undoLast('a2a', name),
    });
    if (gone) window.location.hash = hashRoute('agents');
  };
  return (
    <Button icon={<Trash2 aria-hidden />} onClick={() => void remove()}>
      Remove
    </Button>
  );
}
