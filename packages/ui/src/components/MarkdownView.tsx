import { ImageOff, Square, SquareCheck } from 'lucide-react';
import { type ComponentType, isValidElement, memo, type ReactNode } from 'react';
import Markdown, { type Components } from 'react-markdown';
import remarkGfm from 'remark-gfm';
import { cn } from '../lib/cn.ts';
import { closeOpenMarks, markdownBlocks } from '../lib/markdownBlocks.ts';
import { CodeView } from './CodeView.tsx';

interface MarkdownViewProps {
  text: string;
  /** More is still to come: half-written marks at the end are closed for now. */
  streaming?: boolean;
  /** Shows tables in place of `MarkdownTable`. */
  table?: ComponentType<MarkdownTableProps> | undefined;
  className?: string;
}

/**
 * Markdown from a model or a person. HTML in it is shown as text, never run; links name their host, and pictures are
 * fetched from nowhere until somebody opens them.
 */
export function MarkdownView({ text, streaming = false, table, className }: MarkdownViewProps) {
  const blocks = markdownBlocks(text);
  return (
    <div className={cn('flex max-w-reading min-w-0 flex-col gap-4 text-16 break-words', className)}>
      {blocks.map((block, index) => (
        <Block
          // biome-ignore lint/suspicious/noArrayIndexKey: text only grows at its end, so a block keeps its place
          key={index}
          text={streaming && index === blocks.length - 1 ? closeOpenMarks(block) : block}
          table={table}
        />
      ))}
    </div>
  );
}

// A block whose text did not change is not parsed again.
const Block = memo(function Block({
  text,
  table = MarkdownTable,
}: Pick<MarkdownViewProps, 'text' | 'table'>) {
  return (
    <Markdown remarkPlugins={[remarkGfm]} components={{ ...PARTS, table }}>
      {text}
    </Markdown>
  );
});

const PARTS: Components = {
  h1: ({ children }) => <h2 className="mt-2 text-28">{children}</h2>,
  h2: ({ children }) => <h3 className="mt-2 text-20">{children}</h3>,
  h3: ({ children }) => <h4 className="mt-1 text-16">{children}</h4>,
  h4: ({ children }) => <h5 className="mt-1 font-semibold text-14">{children}</h5>,
  p: ({ children }) => <p>{children}</p>,
  ul: ({ children, className }) => (
    <ul
      className={cn(
        'flex flex-col gap-1',
        isTaskList(className) ? 'list-none' : 'list-disc pl-6 marker:text-muted',
      )}
    >
      {children}
    </ul>
  ),
  input: ({ checked }) => <TaskBox checked={checked === true} />,
  ol: ({ children, start }) => (
    <ol
      start={start}
      className="flex list-decimal flex-col gap-1 pl-6 marker:font-mono marker:text-14 marker:text-muted"
    >
      {children}
    </ol>
  ),
  blockquote: ({ children }) => (
    <blockquote className="flex flex-col gap-2 border-accent border-l-2 pl-4 text-muted">
      {children}
    </blockquote>
  ),
  hr: () => <hr className="border-line" />,
  a: ({ href, children }) => <Anchor href={href}>{children}</Anchor>,
  img: ({ src, alt }) => <Picture src={typeof src === 'string' ? src : undefined} alt={alt} />,
  strong: ({ children }) => <strong className="font-semibold">{children}</strong>,
  pre: ({ node }) => <FencedCode node={node} />,
  code: ({ children }) => (
    <code className="rounded-small bg-sunken px-1 py-0.5 text-[0.875em]">{children}</code>
  ),
  th: ({ children }) => (
    <th className="border-line border-b bg-sunken px-3 py-2 text-left font-medium">{children}</th>
  ),
  td: ({ children }) => <td className="border-line border-t px-3 py-2 align-top">{children}</td>,
};

export type MarkdownTableProps = Parameters<Extract<Components['table'], (...args: never[]) => unknown>>[0];

export function MarkdownTable({ children }: Pick<MarkdownTableProps, 'children'>) {
  return (
    <div className="overflow-x-auto rounded-corner border border-line">
      <table className="w-full border-collapse text-14">{children}</table>
    </div>
  );
}

function isTaskList(className: string | undefined): boolean {
  return className?.includes('contains-task-list') ?? false;
}

function TaskBox({ checked }: { checked: boolean }) {
  const Icon = checked ? SquareCheck : Square;
  return (
    <Icon
      role="img"
      aria-label={checked ? 'Done:' : 'Not done:'}
      className={cn('-mt-0.5 mr-2 inline size-4', checked ? 'text-live-text' : 'text-muted')}
    />
  );
}

function Anchor({ href, children }: { href: string | undefined; children: ReactNode }) {
  const outside = href !== undefined && /^https?:/.test(href);
  const link = (
    <a
      href={href}
      {...(outside && { target: '_blank', rel: 'noopener noreferrer' })}
      className="text-accent-text underline decoration-1 underline-offset-2 hover:decoration-2"
    >
      {children}
    </a>
  );
  const host = hostOf(href);
  if (host === undefined || showsHost(plainText(children), host)) return link;
  return (
    <>
      {link}
      <span className="ml-1 text-[0.8em] text-muted">({host})</span>
    </>
  );
}

/** Fetching a picture tells its host that somebody reads this, and could carry text out: only a click opens it. */
function Picture({ src, alt = '' }: { src: string | undefined; alt: string | undefined }) {
  const host = hostOf(src);
  return (
    <a
      href={src}
      target="_blank"
      rel="noopener noreferrer"
      className="inline-flex max-w-full items-center gap-2 rounded-corner border border-line border-dashed bg-sunken px-3 py-2 text-14 text-muted hover:text-ink"
    >
      <ImageOff aria-hidden className="size-4 shrink-0" />
      <span className="min-w-0 break-words">
        {alt || 'Picture'}
        {host && ` (not loaded from ${host}; open it)`}
      </span>
    </a>
  );
}

/** The host of an address elsewhere; undefined for this page's own. */
function hostOf(href: string | undefined): string | undefined {
  const url = href === undefined ? null : URL.parse(href, window.location.href);
  if (url === null || !/^https?:$/.test(url.protocol) || url.host === window.location.host) return undefined;
  return url.host;
}

/** Whether a text names the host itself, and no other: "evil.example/bank.example" does not name bank.example. */
function showsHost(text: string, host: string): boolean {
  const shown = text
    .trim()
    .toLowerCase()
    .replace(/^https?:\/\//, '');
  const bare = host.replace(/^www\./, '');
  return [host, bare].some((name) => shown === name || shown.startsWith(`${name}/`));
}

function plainText(node: ReactNode): string {
  if (typeof node === 'string' || typeof node === 'number') return String(node);
  if (Array.isArray(node)) return node.map(plainText).join('');
  return isValidElement<{ children?: ReactNode }>(node) ? plainText(node.props.children) : '';
}

type PreNode = Parameters<Extract<Components['pre'], (...args: never[]) => unknown>>[0]['node'];

function FencedCode({ node }: { node: PreNode }) {
  const code = node?.children.find((child) => child.type === 'element');
  const text = code?.children.map((child) => (child.type === 'text' ? child.value : '')).join('') ?? '';
  const classes = code?.properties.className;
  const language = Array.isArray(classes) ? String(classes[0] ?? '').replace('language-', '') : '';
  return <CodeView code={text.replace(/\n$/, '')} {...(language !== '' && { title: language })} />;
}
