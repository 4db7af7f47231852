import {
  type Api,
  asApiError,
  Badge,
  Button,
  IconButton,
  useApi,
  useAttempt,
  useHotkeys,
  useResource,
  useToast,
} from '@trunkline/ui';
import { ArrowUp, Paperclip, Square, X } from 'lucide-react';
import {
  type ChangeEvent,
  type ClipboardEvent,
  type DragEvent,
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react';
import type { PromptCommand } from '../../routes/mcp.ts';
import type { Attached, UploadedFile } from './wire.ts';

/** Of a message, and of each file that goes with it as text. */
const MAX_CHARACTERS = 200_000;

const MAX_FILES = 10;

const UPLOAD_LIMIT_MS = 300_000;

interface ComposerProps {
  /** A turn runs: it can be stopped, and nothing can be said meanwhile. */
  working: boolean;
  /** A question waits: what is said is its answer. */
  answering: boolean;
  onSend(text: string, attachments: readonly Attached[]): Promise<void>;
  onStop(): Promise<void>;
  /** Asked for with the arrow up in an empty box. */
  onEditLast(): void;
  /** Beside the button that sends. */
  picker: ReactNode;
}

/** Where one says something: Enter sends, Shift and Enter begin a new line. */
export function Composer({ working, answering, onSend, onStop, onEditLast, picker }: ComposerProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [text, setText] = useState('');
  const [sending, setSending] = useState(false);
  const { attachments, attaching, attach, remove, clear } = useAttachments();
  const [dropping, setDropping] = useState(false);
  const attempt = useAttempt();
  const tooLong = text.trim().length > MAX_CHARACTERS;
  const ready = text.trim() !== '' && !tooLong && !working && !sending && !attaching;
  useHotkeys([{ keys: '/', label: 'Write a message', run: () => field.current?.focus() }]);
  useEffect(() => field.current?.focus(), []);

  const send = async () => {
    if (!ready) return;
    setSending(true);
    const sent = await attempt(() => onSend(text.trim(), attachments));
    setSending(false);
    if (!sent) return;
    setText('');
    clear();
    field.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') return field.current?.blur();
    if (event.key === 'ArrowUp' && text === '') {
      event.preventDefault();
      return onEditLast();
    }
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void send();
  };
  const onPaste = ({ clipboardData }: ClipboardEvent) => void attach([...clipboardData.files]);
  const onDrop = (event: DragEvent) => {
    setDropping(false);
    if (event.dataTransfer.files.length === 0) return;
    event.preventDefault();
    void attach([...event.dataTransfer.files]);
  };
  const onDragOver = (event: DragEvent) => {
    if (!event.dataTransfer.types.includes('Files')) return;
    event.preventDefault();
    setDropping(true);
  };

  return (
    <form
      aria-label="Message"
      className={`flex flex-col gap-2 rounded-corner border bg-raised p-2 focus-within:border-ink ${dropping ? 'border-accent border-dashed' : 'border-edge'}`}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      onDragOver={onDragOver}
      onDragLeave={() => setDropping(false)}
      onDrop={onDrop}
    >
      <Files attachments={attachments} onRemove={remove} />
      {/^\/[\w:.-]*$/.test(text) && (
        <PromptMenu
          text={text}
          onPick={(command) => {
            setText(command);
            field.current?.focus();
          }}
        />
      )}
      <textarea
        ref={field}
        rows={1}
        value={text}
        aria-label="Message"
        placeholder={answering ? 'Answer the question' : 'Ask for something'}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
        className="field-sizing-content max-h-60 min-h-10 w-full resize-none bg-transparent px-2 py-2 text-16 outline-none placeholder:text-muted"
      />
      {tooLong && (
        <p role="alert" className="px-2 text-14 text-failed-text">
          A message takes 200,000 characters. Shorten it, or attach files.
        </p>
      )}
      <div className="flex items-center gap-2">
        <AttachButton busy={attaching} onFiles={attach} />
        <span className="min-w-0 flex-1 truncate text-12 text-muted max-sm:invisible pointer-coarse:invisible">
          {dropping ? 'Drop files to attach them' : 'Enter sends, Shift and Enter begin a new line'}
        </span>
        {picker}
        {working ? (
          <Button icon={<Square aria-hidden />} onClick={() => void attempt(onStop)}>
            Stop
          </Button>
        ) : (
          <Button
            type="submit"
            variant="primary"
            busy={sending}
            disabled={!ready}
            icon={<ArrowUp aria-hidden />}
          >
            Send
          </Button>
        )}
      </div>
    </form>
  );
}

function useAttachments() {
  const toast = useToast();
  const api = useApi();
  const [attachments, setAttachments] = useState<readonly Attached[]>([]);
  const [pending, setPending] = useState(0);
  return {
    attachments,
    attaching: pending > 0,
    clear: () => setAttachments([]),
    remove: (gone: Attached) => setAttachments((kept) => kept.filter((file) => file !== gone)),
    async attach(files: readonly File[]) {
      setPending((count) => count + 1);
      const read = await Promise.allSettled(files.map((file) => readAttachment(file, api)));
      setPending((count) => count - 1);
      const good = read.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
      setAttachments((kept) => [...kept, ...good].slice(0, MAX_FILES));
      const bad = read.find((result) => result.status === 'rejected');
      if (bad) toast({ title: asApiError(bad.reason).message, state: 'failed' });
    },
  };
}

function Files({
  attachments,
  onRemove,
}: {
  attachments: readonly Attached[];
  onRemove(file: Attached): void;
}) {
  if (attachments.length === 0) return null;
  return (
    <ul aria-label="Files to send" className="flex flex-wrap gap-2 px-1 pt-1">
      {attachments.map((file) => (
        <li key={'id' in file ? file.id : file.name} className="flex items-center">
          {'url' in file && file.media_type.startsWith('image/') ? (
            <img
              src={file.url}
              alt={file.name}
              className="size-14 rounded-corner border border-line bg-white object-cover"
            />
          ) : (
            <Badge>
              <Paperclip aria-hidden />
              {file.name}
            </Badge>
          )}
          <IconButton
            small
            label={`Remove ${file.name}`}
            icon={<X aria-hidden />}
            onClick={() => onRemove(file)}
          />
        </li>
      ))}
    </ul>
  );
}

function AttachButton(props: { busy: boolean; onFiles(files: readonly File[]): Promise<void> }) {
  const { busy, onFiles } = props;
  const input = useRef<HTMLInputElement>(null);
  const take = ({ target }: ChangeEvent<HTMLInputElement>) => {
    void onFiles([...(target.files ?? [])]);
    target.value = '';
  };
  return (
    <>
      <input ref={input} type="file" multiple hidden aria-label="Files to attach" onChange={take} />
      <IconButton
        label="Attach files"
        disabled={busy}
        icon={<Paperclip aria-hidden />}
        onClick={() => input.current?.click()}
      />
    </>
  );
}

/** Text goes with the message, where people see all of it; pictures, sound and documents are stored first. */
async function readAttachment(file: File, api: Api): Promise<Attached> {
  if (file.size <= MAX_CHARACTERS * 4 && !/^(image|audio)\/|pdf$/.test(file.type)) {
    const text = await file.text();
    const isText = !text.includes('\0') && !text.includes('\uFFFD');
    if (isText && text.length <= MAX_CHARACTERS) return { name: file.name, text };
  }
  const body = new FormData();
  body.append('file', file);
  return await api.request<UploadedFile>('/api/chat/files', { body, timeLimitMs: UPLOAD_LIMIT_MS });
}

const SHOWN = 8;

interface PromptMenuProps {
  /** What stands in the message box. */
  text: string;
  onPick(text: string): void;
}

/** Prompts of MCP servers that fit what is typed after a slash. */
function PromptMenu({ text, onPick }: PromptMenuProps) {
  const title = useId();
  const { body } = useResource<{ prompts: PromptCommand[] }>('/api/mcp/prompts');
  const fitting = (body?.prompts ?? []).filter(({ command }) => command.startsWith(text)).slice(0, SHOWN);
  if (fitting.length === 0) return null;
  return (
    <section aria-labelledby={title} className="border-line border-b pb-1">
      <h3 id={title} className="px-2 text-12 text-muted">
        Prompts of MCP servers
      </h3>
      <ul>
        {fitting.map((prompt) => (
          <li key={prompt.command}>
            <button
              type="button"
              className="flex w-full flex-wrap items-baseline gap-x-3 rounded-small px-2 py-1 text-left hover:bg-sunken focus-visible:bg-sunken"
              onClick={() => onPick(`${prompt.command} ${placesOf(prompt)}`.trimEnd())}
            >
              <code className="text-12">{prompt.command}</code>
              <span className="min-w-0 flex-1 basis-48 truncate text-12 text-muted">
                {prompt.description || prompt.title}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Places for the arguments, to be filled in. */
function placesOf({ arguments: fields }: PromptCommand): string {
  return fields
    .map(({ name, required }) => (required ? `${name}=""` : ''))
    .join(' ')
    .trim();
}
