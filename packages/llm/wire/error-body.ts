/** What an endpoint says about a failure, whichever shape it says it in. Absent fields are empty. */
export interface EndpointError {
  message: string;
  type: string;
  code: string;
  /** The parameter that it names as the cause. */
  param: string;
  /** The size of the context window, where it is named. */
  contextTokens?: number | undefined;
}

type Fields = Record<string, unknown>;

const deepest = 4;
/** Some endpoints quote the whole request; what went wrong stands at the start or at the end. */
const longestMessage = 4096;
const longestEnd = 1024;

/** Reads the body of an error response: JSON of any dialect, a web page, or plain words. */
export function readErrorText(text: string): EndpointError {
  const trimmed = text.trim();
  if (isWebPage(trimmed)) return { ...nothingSaid, message: webPageWords(trimmed) };
  const parsed = parse(trimmed);
  return errorFields(parsed) ?? { ...nothingSaid, message: parsed === undefined ? shortened(trimmed) : '' };
}

/**
 * The error in a JSON document, when it is one. Known shapes: OpenAI and Anthropic `{error: {…}}`, vLLM `{object: "error",
 * message}`, Ollama and LM Studio `{error: "…"}`, TGI `{error, error_type}`, FastAPI `{detail: "…" | [{msg, loc}]}`,
 * Mistral `{message: {detail: […]}}`, Gemini `[{error: {…}}]`, Bedrock `{message}` or `{Message}`, Cloudflare
 * `{errors: […]}`, and OpenRouter, which wraps what the provider behind it said as text in `metadata.raw`.
 */
export function errorFields(document: unknown): EndpointError | undefined {
  const fields = readFields(document);
  return fields && { ...fields, message: shortened(fields.message) };
}

function shortened(message: string): string {
  if (message.length <= longestMessage) return message;
  return `${message.slice(0, longestMessage - longestEnd)} … ${message.slice(-longestEnd)}`;
}

function readFields(document: unknown, depth = 0): EndpointError | undefined {
  if (depth > deepest) return undefined;
  if (Array.isArray(document)) return readFields(document[0], depth + 1);
  if (!isFields(document)) return undefined;
  const { error, errors, detail } = document;
  if (typeof error === 'string') return { ...fieldsOf(document), message: error };
  if (isFields(error)) return ofProvider(error, depth) ?? fieldsOf(error);
  if (Array.isArray(errors) && errors.length > 0) return readFields({ error: errors[0] }, depth + 1);
  if (detail !== undefined && detail !== null) return ofDetail(detail, depth);
  const { message } = document;
  if (isFields(message)) return readFields(message, depth + 1);
  return textOf(document, 'message', 'Message', 'msg') === '' ? undefined : fieldsOf(document);
}

/** Whether a document of a stream, which would otherwise be a piece of the answer, is an error. */
export function isErrorDocument(document: unknown): boolean {
  if (Array.isArray(document)) return true;
  if (!isFields(document)) return false;
  const { error, object, type, choices } = document;
  if (error !== undefined && error !== null && error !== false && error !== '') return true;
  if (object === 'error' || type === 'error') return true;
  return choices === undefined && errorFields(document) !== undefined;
}

export function isWebPage(text: string): boolean {
  return /^\s*<(!doctype|html|head|body|\?xml)/i.test(text);
}

export function webPageWords(page: string): string {
  const title = /<title[^>]{0,200}>([^<]{1,100})/i.exec(page)?.[1]?.trim();
  return `a web page came instead${title ? `: "${title}"` : ''}`;
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const nothingSaid: EndpointError = { message: '', type: '', code: '', param: '' };

function fieldsOf(fields: Fields): EndpointError {
  const contextTokens = numberOf(fields.n_ctx);
  return {
    message: textOf(fields, 'message', 'Message', 'msg', 'error_description'),
    type: textOf(fields, 'type', 'status', 'error_type', '__type'),
    code: textOf(fields, 'code'),
    param: textOf(fields, 'param'),
    ...(contextTokens === undefined ? {} : { contextTokens }),
  };
}

/** FastAPI: a sentence, or what was wrong with each field and where it stands. */
function ofDetail(detail: unknown, depth: number): EndpointError | undefined {
  if (typeof detail === 'string') return { ...nothingSaid, message: detail };
  if (!Array.isArray(detail))
    return readFields(detail, depth + 1) ?? readFields({ error: detail }, depth + 1);
  const entries = detail.filter(isFields);
  const places = entries.map(({ loc }) => (Array.isArray(loc) ? loc.filter((step) => step !== 'body') : []));
  const message = entries
    .map((entry, index) =>
      [places[index]?.join('.'), textOf(entry, 'msg', 'message')].filter(Boolean).join(': '),
    )
    .join('; ');
  return {
    ...nothingSaid,
    message,
    type: textOf(entries[0] ?? {}, 'type'),
    param: String(places[0]?.[0] ?? ''),
  };
}

/** OpenRouter's own words say only that the provider failed; the provider's say why. */
function ofProvider(error: Fields, depth: number): EndpointError | undefined {
  const raw = isFields(error.metadata) ? error.metadata.raw : undefined;
  if (typeof raw !== 'string' || raw.trim() === '') return undefined;
  const inner = readFields(parse(raw), depth + 1) ?? { ...nothingSaid, message: raw };
  return { ...fieldsOf(error), ...inner, code: inner.code || fieldsOf(error).code };
}

function textOf(fields: Fields, ...names: string[]): string {
  for (const name of names) {
    const value = fields[name];
    if (typeof value === 'number' || (typeof value === 'string' && value !== '')) return String(value);
  }
  return '';
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && value > 0 ? value : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
