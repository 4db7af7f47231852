import { Badge, useApi } from '@trunkline/ui';
import { Download, Paperclip } from 'lucide-react';
import { useEffect, useState } from 'react';
import { readableAnswer } from './QuestionCard.tsx';
import type { ChatFile, Entry, UploadedFile } from './wire.ts';

/** What a person said, with what they attached. */
export function Said({ text, attachments, files = [] }: Omit<Extract<Entry, { kind: 'user' }>, 'kind'>) {
  return (
    <div className="flex max-w-[85%] flex-col items-end gap-2 self-end">
      <div className="rounded-corner border border-line bg-sunken px-4 py-2 text-16 break-words whitespace-pre-wrap">
        {readableAnswer(text)}
      </div>
      {attachments.length + files.length > 0 && (
        <ul aria-label="Attached files" className="flex flex-wrap justify-end gap-2">
          {attachments.map((name) => (
            <li key={name}>
              <Badge>
                <Paperclip aria-hidden />
                {name}
              </Badge>
            </li>
          ))}
          {files.map((file) => (
            <li key={file.id}>
              <FileView file={file} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** A stored file: a picture, a player, or a link to download it. */
export function FileView({ file }: { file: ChatFile }) {
  const link = useLink(file.id);
  const { name, media_type } = file;
  if (link === 'gone') {
    return (
      <Badge>
        <Paperclip aria-hidden />
        {name} is no longer stored
      </Badge>
    );
  }
  if (media_type.startsWith('image/') && link !== undefined) {
    return (
      <a href={link} target="_blank" rel="noreferrer" className="block">
        <img
          src={link}
          alt={name}
          className="max-h-96 max-w-full rounded-corner border border-line bg-white object-contain"
        />
      </a>
    );
  }
  if (media_type.startsWith('audio/') && link !== undefined) {
    // biome-ignore lint/a11y/useMediaCaption: what people and tools record has none
    return <audio controls src={link} aria-label={name} className="max-w-full" />;
  }
  return (
    <a
      href={link}
      download={name}
      className="inline-flex min-h-9 items-center gap-2 rounded-corner border border-line bg-raised px-3 text-14 hover:border-edge hover:bg-hover [&_svg]:size-4"
    >
      <Download aria-hidden />
      <span className="max-w-60 truncate">{name}</span>
    </a>
  );
}

/** The pages that an answer is drawn from. Their titles are the pages' own words. */
export function Sources({ sources }: Pick<Extract<Entry, { kind: 'sources' }>, 'sources'>) {
  return (
    <section aria-label="Sources" className="max-w-reading text-14">
      <h3 className="font-medium text-12 text-muted">Sources</h3>
      <ol className="list-decimal pl-5">
        {sources.map(({ url, title }) => (
          <li key={url} className="break-words">
            <a
              href={url}
              target="_blank"
              rel="noreferrer"
              className="text-accent-text underline underline-offset-2"
            >
              {title ?? url}
            </a>
            {title !== undefined && <span className="ml-2 text-12 text-muted">{hostOf(url)}</span>}
          </li>
        ))}
      </ol>
    </section>
  );
}

function hostOf(url: string): string {
  return URL.parse(url)?.host ?? '';
}

/** Before the link of an hour ends. */
const renewMs = 50 * 60 * 1000;

/** A link that works as long as the page is open; undefined while it is asked for. */
function useLink(id: string): string | 'gone' | undefined {
  const api = useApi();
  const [link, setLink] = useState<string>();
  useEffect(() => {
    const leaving = new AbortController();
    const ask = () =>
      void api
        .request<UploadedFile>(`/api/chat/files/${encodeURIComponent(id)}`, { signal: leaving.signal })
        .then(({ url }) => url)
        .catch((error: unknown) => ((error as { status?: number }).status === 404 ? 'gone' : undefined))
        .then((found) => {
          if (!leaving.signal.aborted && found !== undefined) setLink(found);
        });
    ask();
    const timer = setInterval(ask, renewMs);
    return () => {
      clearInterval(timer);
      leaving.abort();
    };
  }, [api, id]);
  return link;
}
