/** A pushed result, as far as it is told. */
export interface Pushed {
  /** Missing where there is nothing to tell: a task that still works. */
  text: string | undefined;
  /** Who says it, when the sender tells. */
  from: string | undefined;
  /** Set when the sender waits for an answer to it. */
  question: { taskId: string; contextId?: string } | undefined;
}

/** Reads a pushed result, wherever the sender has put what it says. */
export function readPushed(body: unknown): Pushed {
  const { text, result, message, task, statusUpdate } = fieldsOf(body);
  const holders = [result, task, statusUpdate, body].map(fieldsOf);
  const candidates = [
    typeof text === 'string' ? text : undefined,
    ...holders.map(artifactText),
    partsText(fieldsOf(message).parts),
    ...holders.map(statusText),
  ];
  return {
    text: candidates.map((candidate) => candidate?.trim()).find(Boolean),
    from: senderOf(body),
    question: holders.map(questionOf).find((question) => question !== undefined),
  };
}

function senderOf(body: unknown): string | undefined {
  const { from, agent } = fieldsOf(body);
  const name = [from, agent].find((value) => typeof value === 'string' && value.trim() !== '');
  return typeof name === 'string' ? name.trim().slice(0, 100) : undefined;
}

/** Of a task, or of the last update of one, which holds the answer beside the status. */
function artifactText(holder: Fields): string | undefined {
  const { artifacts, artifact } = holder;
  const all = Array.isArray(artifacts) ? artifacts : stateOf(holder) === 'completed' ? [artifact] : [];
  return joined(all.map((each) => partsText(fieldsOf(each).parts)));
}

/** Why a task came to nothing, or what it asks back; the words of one that goes on are not told. */
function statusText(holder: Fields): string | undefined {
  const told = ['failed', 'rejected', 'canceled', 'input-required'].includes(stateOf(holder));
  return told ? partsText(fieldsOf(fieldsOf(holder.status).message).parts) : undefined;
}

function questionOf(holder: Fields): Pushed['question'] {
  const { taskId = holder.id, contextId } = holder;
  if (stateOf(holder) !== 'input-required' || typeof taskId !== 'string') return undefined;
  return { taskId, ...(typeof contextId === 'string' && { contextId }) };
}

/** In the spelling of A2A 0.3; 1.0 has TASK_STATE_FAILED for failed. */
function stateOf(holder: Fields): string {
  const { state } = fieldsOf(holder.status);
  if (typeof state !== 'string') return '';
  return state
    .replace(/^TASK_STATE_/, '')
    .toLowerCase()
    .replaceAll('_', '-');
}

function partsText(parts: unknown): string | undefined {
  if (!Array.isArray(parts)) return undefined;
  return joined(parts.map((part) => fieldsOf(part).text));
}

function joined(texts: readonly unknown[]): string {
  return texts.filter((text) => typeof text === 'string' && text.trim() !== '').join(' ');
}

type Fields = Record<string, unknown>;

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}
