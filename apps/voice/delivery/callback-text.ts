/** The text that a pushed result carries, wherever the sender has put it. */
export function callbackText(body: unknown): string | undefined {
  const { text, result, message, task } = fieldsOf(body);
  const candidates = [
    typeof text === 'string' ? text : undefined,
    artifactText(result),
    partsText(fieldsOf(message).parts),
    artifactText(task),
    artifactText(body),
  ];
  return candidates.map((candidate) => candidate?.trim()).find(Boolean);
}

/** Who says it, when the sender tells. */
export function callbackSender(body: unknown): string | undefined {
  const { from, agent } = fieldsOf(body);
  const name = [from, agent].find((value) => typeof value === 'string' && value.trim() !== '');
  return typeof name === 'string' ? name.trim().slice(0, 100) : undefined;
}

function artifactText(holder: unknown): string | undefined {
  const { artifacts } = fieldsOf(holder);
  if (!Array.isArray(artifacts)) return undefined;
  return joined(artifacts.map((artifact) => partsText(fieldsOf(artifact).parts)));
}

function partsText(parts: unknown): string | undefined {
  if (!Array.isArray(parts)) return undefined;
  return joined(parts.map((part) => fieldsOf(part).text));
}

function joined(texts: readonly unknown[]): string {
  return texts.filter((text) => typeof text === 'string' && text.trim() !== '').join(' ');
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
