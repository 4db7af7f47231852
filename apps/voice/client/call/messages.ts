// Messages of the data channel, in the RTVI style.
const LABEL = 'rtvi-ai';

export interface ServerMessage {
  type: string;
  data: Readonly<Record<string, unknown>>;
}

/** A message from the service; undefined for keepalives and what is in no known form. */
export function openMessage(text: string): ServerMessage | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    const { label, type, data }: Record<string, unknown> = JSON.parse(text);
    if (label !== LABEL || typeof type !== 'string') return undefined;
    return { type, data: typeof data === 'object' && data !== null ? { ...data } : {} };
  } catch {
    // Nothing the page could do about broken words from the service.
    return undefined;
  }
}

export function sealMessage(type: string, data?: object): string {
  return JSON.stringify({ label: LABEL, type, id: crypto.randomUUID(), ...(data && { data }) });
}
