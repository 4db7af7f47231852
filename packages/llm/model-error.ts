import { formatDuration } from '@trunkline/std';

/** What went wrong with a model call: `retryable` when the same call may work later, and words that say what to do. */
const catalogue = {
  aborted: { retryable: false, advice: 'The call was cancelled.' },
  'answer-too-long': {
    retryable: false,
    advice:
      'The answer of the model was stopped: it is longer than can be read. Ask for less, or set LLM_MODEL to a model that does not repeat itself.',
  },
  'bad-answer': {
    retryable: false,
    advice:
      'The answer of the model endpoint cannot be read. Check that LLM_GATEWAY_URL names an OpenAI-style endpoint.',
  },
  'bad-request': {
    retryable: false,
    advice: 'The model endpoint rejects the request. Check that LLM_MODEL supports what is asked of it.',
  },
  'content-filter': {
    retryable: false,
    advice:
      'The content filter of the model endpoint stopped the answer. Put the request another way, or set LLM_MODEL to another model.',
  },
  'context-too-long': {
    retryable: false,
    advice:
      'The conversation is too long for the model. Shorten it, or set LLM_MODEL to one with a larger context.',
  },
  'images-unsupported': {
    retryable: false,
    advice:
      'The model sees no images. Set LLM_VISION_MODEL to one that does, or send the message without the image.',
  },
  'empty-answer': {
    retryable: false,
    advice:
      'The model answered with nothing, also when asked again. Try again, or set LLM_MODEL to another model.',
  },
  interrupted: { retryable: true, advice: 'The connection to the model endpoint broke off. Try again.' },
  loading: {
    retryable: true,
    advice:
      'The model endpoint is still loading the model. Try again later, or raise LLM_LOADING_TIMEOUT_S to wait longer.',
  },
  'malformed-call': {
    retryable: false,
    advice:
      'The model made a tool call that cannot be read, also when asked again. Try again, or set LLM_MODEL to one that calls tools better.',
  },
  misconfigured: { retryable: false, advice: 'The model settings are incomplete.' },
  'no-credit': {
    retryable: false,
    advice: 'The account behind LLM_API_KEY has no credit left. Top it up or use another key.',
  },
  'not-found': {
    retryable: false,
    advice:
      'The model endpoint knows no such model or path. Check LLM_MODEL, and that LLM_GATEWAY_URL ends where the API starts (often /v1).',
  },
  'rate-limited': {
    retryable: true,
    advice: 'The model endpoint limits the rate of calls. Wait a little, or raise the limit there.',
  },
  'refused-key': {
    retryable: false,
    advice: 'The model endpoint refuses the key. Set LLM_API_KEY to one that is valid there.',
  },
  'server-error': {
    retryable: true,
    advice: 'The model endpoint failed. Try again later, or look into its log.',
  },
  timeout: {
    retryable: true,
    advice: 'The model took too long to answer. Try again, or set LLM_MODEL to a faster one.',
  },
  'tools-unsupported': {
    retryable: false,
    advice: 'The model cannot call tools. Set LLM_MODEL to one that can.',
  },
  unknown: { retryable: false, advice: 'The model call failed.' },
  unreachable: {
    retryable: true,
    advice: 'The model endpoint cannot be reached. Check that it runs and that LLM_GATEWAY_URL names it.',
  },
} as const;

export type ModelErrorCode = keyof typeof catalogue;

/** Whether the same call may work later; false for a code that is not of a model call. */
export function isRetryable(code: string): boolean {
  return Object.hasOwn(catalogue, code) && catalogue[code as ModelErrorCode].retryable;
}

interface ModelErrorFacts {
  /** What the endpoint or the system said, already free of secrets. */
  detail?: string | undefined;
  status?: number | undefined;
  /** How long the endpoint asked to wait. */
  retryAfterMs?: number | undefined;
  /** The context window of the model, where the endpoint named it. */
  contextTokens?: number | undefined;
}

/** A failed model call. It carries no cause: causes hold prompts and headers that must not reach a log. */
export class ModelError extends Error {
  readonly code: ModelErrorCode;
  readonly retryable: boolean;
  readonly status: number | undefined;
  /** What the endpoint or the system said, free of secrets. */
  readonly detail: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly contextTokens: number | undefined;

  constructor(code: ModelErrorCode, facts: ModelErrorFacts = {}) {
    super(messageFor(code, facts));
    // The AI SDK tells a cancelled call from a failed one by this name.
    this.name = code === 'aborted' ? 'AbortError' : 'ModelError';
    this.code = code;
    this.retryable = isRetryable(code);
    this.status = facts.status;
    this.detail = facts.detail;
    this.retryAfterMs = facts.retryAfterMs;
    this.contextTokens = facts.contextTokens;
  }
}

const onPage: Readonly<Record<string, string>> = {
  LLM_GATEWAY_URL: 'the address in Setup, Model (/setup/model)',
  LLM_API_KEY: 'the key in Setup, Model (/setup/model)',
  LLM_MODEL: 'the model in Setup, Model (/setup/model)',
};

/** The same failure for an endpoint that was set on the page: it names the page and no variables. */
export function namePage(error: ModelError): ModelError {
  error.message = error.message.replace(
    /\bLLM_(?:GATEWAY_URL|API_KEY|MODEL)\b/g,
    (name) => onPage[name] ?? name,
  );
  return error;
}

function messageFor(code: ModelErrorCode, { detail, status, retryAfterMs }: ModelErrorFacts): string {
  const facts = [status === undefined ? '' : `status ${status}`, detail ?? ''].filter((fact) => fact !== '');
  const asked = retryAfterMs ? ` It asks to wait ${formatDuration(retryAfterMs)}.` : '';
  const advice = `${catalogue[code].advice}${asked}`;
  return facts.length === 0 ? advice : `${advice} (${facts.join(': ')})`;
}
