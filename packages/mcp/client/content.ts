import { type AttachedFile, plainMediaType } from '@trunkline/llm';

/** What the model reads of one result or resource at most. */
const MAX_RESULT = 200_000;
export const MAX_FILES = 10;
/** Characters of base64 of all files of a result. */
const MAX_FILE_TEXT = 20 * 2 ** 20;

interface Content {
  type?: string;
  text?: string;
  mimeType?: string;
  uri?: string;
  name?: string;
  description?: string;
  /** Base64. */
  data?: string;
  resource?: ResourceContent;
}

interface ResourceContent {
  uri?: string;
  text?: string;
  blob?: string;
  mimeType?: string | undefined;
}

/** What a server gives: in answer to a call, as a resource, or in the messages of a prompt. */
export interface McpContent {
  text: string;
  /** Images, sound and other files; the text names them by their type or address. */
  files: readonly AttachedFile[];
}

/** Text and files of a tool result, a prompt or a sampling message. */
export function contentOf(result: Record<string, unknown>, separator = '\n'): McpContent {
  const { files, leftOut } = filesIn(result);
  return { text: [plainText(result, separator), leftOut].filter(Boolean).join('\n'), files };
}

/** Some servers give all files as base64, texts too. */
export function resourceContent(contents: readonly ResourceContent[]): McpContent {
  return contentOf({
    content: contents.map((resource) => {
      const text = resource.text ?? textIn(resource.blob, resource.mimeType ?? '');
      return text === undefined ? { type: 'resource', resource } : { type: 'text', text };
    }),
  });
}

function plainText({ content, structuredContent }: Record<string, unknown>, separator: string): string {
  const given = asList(content);
  const parts = given.map(partText);
  // Servers say the same in words, where there are words: a picture says something else.
  const hasWords = given.some(({ text, resource }) => text || resource?.text);
  if (!hasWords && structuredContent !== undefined) parts.push(JSON.stringify(structuredContent));
  return cut(parts.filter((part) => part !== '').join(separator));
}

/** Images, sound and embedded files of a result, as far as they fit; `leftOut` says that some do not. */
function filesIn({ content }: Record<string, unknown>): { files: AttachedFile[]; leftOut: string } {
  let room = MAX_FILE_TEXT;
  const all = asList(content)
    .map(({ type = 'file', data, mimeType, resource }) => ({
      base64: data ?? resource?.blob ?? '',
      mediaType: plainMediaType(mimeType ?? resource?.mimeType),
      name: resource?.uri?.split('/').at(-1) || type,
    }))
    .filter(({ base64 }) => base64 !== '');
  const files = all
    .filter(({ base64 }) => {
      if (base64.length > room) return false;
      room -= base64.length;
      return true;
    })
    .slice(0, MAX_FILES)
    .map(({ base64, mediaType, name }) => ({
      name: /\.\w+$/.test(name) ? name : `${name}.${extensionOf(mediaType)}`,
      mediaType,
      bytes: Buffer.from(base64, 'base64'),
    }));
  const count = all.length - files.length;
  const leftOut =
    count === 0
      ? ''
      : `[${count} of ${all.length} files were left out: ${MAX_FILES} files with 15 MB together are taken of one result. Ask for fewer at once.]`;
  return { files, leftOut };
}

function extensionOf(mediaType: string): string {
  return /^[a-z]+\/([a-z0-9]+)/.exec(mediaType)?.[1] ?? 'bin';
}

function textIn(blob: string | undefined, mimeType: string): string | undefined {
  const isText = /^(text\/|application\/(json|xml|yaml)\b)/i.test(mimeType);
  return isText && blob !== undefined ? Buffer.from(blob, 'base64').toString('utf8') : undefined;
}

function asList(content: unknown): Content[] {
  if (Array.isArray(content)) return content as Content[];
  return typeof content === 'object' && content !== null ? [content as Content] : [];
}

function partText({ type, text, mimeType, uri, name, description, resource }: Content): string {
  if (type === 'text') return text ?? '';
  if (type === 'resource') return resource?.text ?? resource?.uri ?? '';
  if (type === 'resource_link') {
    const more = [mimeType, description].filter(Boolean).join(', ');
    return `[resource ${name ?? ''}: ${uri ?? ''}${more && ` (${more})`}]`;
  }
  return `[${type ?? 'part'}${mimeType === undefined ? '' : ` ${mimeType}`}]`;
}

function cut(text: string): string {
  if (text.length <= MAX_RESULT) return text;
  return `${text.slice(0, MAX_RESULT)}\n[${text.length - MAX_RESULT} more characters were cut off]`;
}
