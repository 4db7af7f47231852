import { ConfirmDialog, useApi, useToast } from '@trunkline/ui';
import { useAction } from '../lib/actions.ts';

/** A report or a chat, as the question names it. */
interface Deletable {
  kind: 'research' | 'chat';
  id: string;
  title: string;
}

interface DeleteDialogProps {
  /** Undefined while nothing is to be deleted. */
  item: Deletable | undefined;
  onClose(): void;
  onDeleted(): void;
}

const WORDS = {
  research: {
    path: '/api/research',
    what: 'research',
    detail: 'Its report, its evidence and its link are deleted, and the pages that were read for it alone.',
    done: 'Research deleted.',
    failed: 'The research could not be deleted.',
  },
  chat: {
    path: '/api/chat',
    what: 'chat',
    detail: 'Its questions and answers are deleted.',
    done: 'Chat deleted.',
    failed: 'The chat could not be deleted.',
  },
};

const LONGEST_TITLE = 100;

/** Asks whether to delete a report or a chat, and deletes it. */
export function DeleteDialog({ item, onClose, onDeleted }: DeleteDialogProps) {
  const api = useApi();
  const toast = useToast();
  const { kind, id, title } = item ?? { kind: 'chat', id: '', title: '' };
  const { path, what, detail, done, failed } = WORDS[kind];
  const { run } = useAction(failed);
  const remove = () =>
    run(async () => {
      await api.request(`${path}/${encodeURIComponent(id)}`, { method: 'DELETE' });
      toast({ title: done });
      onDeleted();
    });
  return (
    <ConfirmDialog
      open={item !== undefined}
      title={`Delete the ${what} “${shortened(title)}”?`}
      detail={detail}
      action="Delete"
      onConfirm={remove}
      onCancel={onClose}
    />
  );
}

function shortened(title: string): string {
  return title.length > LONGEST_TITLE ? `${title.slice(0, LONGEST_TITLE)}…` : title;
}
