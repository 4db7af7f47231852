import {
  type Api,
  asApiError,
  Button,
  ConfirmDialog,
  EmptyState,
  ErrorState,
  IconButton,
  Line,
  RelativeTime,
  Skeleton,
  useApi,
  useResource,
  useToast,
} from '@trunkline/ui';
import { FileText, Trash2, Upload } from 'lucide-react';
import { type DragEvent, useRef, useState } from 'react';
import type { StoredFile } from '../../api-types.ts';
import { useAction } from '../lib/actions.ts';
import { bytesWords, plural } from '../lib/format.ts';
import { PageFrame } from '../PageFrame.tsx';
import { useFileAt } from './FileViewer.tsx';

const KINDS =
  '.md,.markdown,.txt,.html,.htm,.pdf,.docx,.odt,.epub,.xlsx,.ods,.csv,.tsv,.png,.jpg,.jpeg,.webp';
const UPLOAD_LIMIT_MS = 300_000;

/** The user's own files as sources. */
export function FilesPage() {
  const { body, error, reload } = useResource<{ files: StoredFile[] }>('/api/files');
  const files = body?.files;
  return (
    <PageFrame
      title="Your files"
      detail="Search and research read these files together with everything else. They stay on this machine."
    >
      <UploadArea onDone={reload} />
      {error && <ErrorState what="The files could not be loaded." why={error.message} todo={error.advice} />}
      {files === undefined && !error && <Skeleton rows={3} />}
      {files?.length === 0 && (
        <EmptyState
          icon={<FileText aria-hidden />}
          title="No files yet"
          next="Upload notes, papers or documents to have them searched."
        />
      )}
      {files !== undefined && files.length > 0 && <FileList files={files} onChange={reload} />}
    </PageFrame>
  );
}

function UploadArea({ onDone }: { onDone(): void }) {
  const api = useApi();
  const toast = useToast();
  const input = useRef<HTMLInputElement>(null);
  const [isOver, setOver] = useState(false);
  const { busy, run } = useAction('The upload failed.');
  const upload = (files: readonly File[]) => {
    if (files.length === 0) return;
    run(async () => {
      const failures = await uploadEach(api, files);
      const added = files.length - failures.length;
      for (const detail of failures) toast({ title: 'The upload failed.', detail, state: 'failed' });
      if (added > 0) toast({ title: `${plural(added, 'file')} added.`, state: 'live' });
      onDone();
    });
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    upload([...event.dataTransfer.files]);
  };
  return (
    <section
      aria-label="Upload"
      data-over={isOver || undefined}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
      className="flex flex-wrap items-center justify-between gap-4 rounded-corner border border-edge border-dashed p-6 data-over:border-accent-strong data-over:bg-accent-wash"
    >
      <p className="min-w-0 text-14 text-muted">
        Drop files here: PDF, Word, spreadsheets, e-books, Markdown, text, HTML, or pictures of text.
      </p>
      <Button
        variant="primary"
        icon={<Upload aria-hidden />}
        busy={busy}
        onClick={() => input.current?.click()}
      >
        {busy ? 'Reading' : 'Upload'}
      </Button>
      <input
        ref={input}
        type="file"
        multiple
        accept={KINDS}
        aria-label="Files to upload"
        className="hidden"
        onChange={(event) => {
          upload([...(event.target.files ?? [])]);
          event.target.value = '';
        }}
      />
    </section>
  );
}

/** Each file by itself, so that one that cannot be read keeps no other out; gives what failed, in words. */
async function uploadEach(api: Api, files: readonly File[]): Promise<string[]> {
  const failures: string[] = [];
  for (const file of files) {
    const form = new FormData();
    form.append('file', file);
    try {
      await api.request('/api/files', { body: form, timeLimitMs: UPLOAD_LIMIT_MS });
    } catch (error) {
      const { status, message, advice } = asApiError(error);
      const saysWhatToDo = status === 415 || status === 422;
      failures.push(saysWhatToDo ? message : `${message} ${advice}`);
    }
  }
  return failures;
}

function FileList({ files, onChange }: { files: readonly StoredFile[]; onChange(): void }) {
  const api = useApi();
  const [removing, setRemoving] = useState<StoredFile>();
  const { run } = useAction('The file could not be removed.');
  const remove = (id: string) =>
    run(async () => {
      await api.request(`/api/files/${id}`, { method: 'DELETE' });
      setRemoving(undefined);
      onChange();
    });
  return (
    <>
      <ul className="overflow-hidden rounded-corner border border-line bg-raised">
        {files.map((file) => (
          <FileLine key={file.id} file={file} onRemove={() => setRemoving(file)} />
        ))}
      </ul>
      <ConfirmDialog
        open={removing !== undefined}
        title={`Remove ${removing?.name ?? ''}?`}
        detail="It is searched no longer. Reports that cite it keep their passages."
        action="Remove"
        onConfirm={() => removing && remove(removing.id)}
        onCancel={() => setRemoving(undefined)}
      />
    </>
  );
}

function FileLine({ file, onRemove }: { file: StoredFile; onRemove(): void }) {
  const open = useFileAt(file.url);
  return (
    <Line
      lead={<FileText aria-hidden />}
      title={file.title}
      onOpen={open && (() => open())}
      detail={`${bytesWords(file.bytes)}${file.title === file.name ? '' : ` · ${file.name}`}`}
      trail={
        <>
          <RelativeTime at={file.addedAt} />
          <IconButton small label={`Remove ${file.name}`} icon={<Trash2 aria-hidden />} onClick={onRemove} />
        </>
      }
    />
  );
}
