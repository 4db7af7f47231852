/** What the model reads of one result or resource at most. */
const MAX_RESULT = 200_000;

interface Content {
  type?: string;
  text?: string;
  mimeType?: string;
  uri?: string;
  name?: string;
  resource?: ResourceContent;
}

interface ResourceContent {
  uri?: string;
  text?: string;
  mimeType?: string | undefined;
}

/** The content of a tool result, a prompt message or a sampling message as text. */
export function plainText({ content, structuredContent }: Record<string, unknown>): string {
  const parts = asList(content).map(partText);
  const text = parts.filter((part) => part !== '').join('\n');
  return cut(text === '' && structuredContent !== undefined ? JSON.stringify(structuredContent) : text);
}

export function resourceText(contents: readonly ResourceContent[]): string {
  return cut(
    contents
      .map(({ uri = '', text, mimeType = 'unknown type' }) => text ?? `[${uri}: not text, ${mimeType}]`)
      .join('\n'),
  );
}

function asList(content: unknown): Content[] {
  if (Array.isArray(content)) return content as Content[];
  return typeof content === 'object' && content !== null ? [content as Content] : [];
}

function partText({ type, text, mimeType, uri, name, resource }: Content): string {
  if (type === 'text') return text ?? '';
  if (type === 'resource') return resource?.text ?? resource?.uri ?? '';
  if (type === 'resource_link') return `[resource ${name ?? ''}: ${uri ?? ''}]`;
  return `[${type ?? 'part'}${mimeType === undefined ? '' : ` ${mimeType}`}]`;
}

function cut(text: string): string {
  if (text.length <= MAX_RESULT) return text;
  return `${text.slice(0, MAX_RESULT)}\n[${text.length - MAX_RESULT} more characters were cut off]`;
}
