import { createGuardedFetch } from '@trunkline/http';
import type { FileSource } from '../content/references.ts';

export interface FileHost {
  /** Where the product keeps files (scheme, host and port). Only it is sent the credentials. */
  origin: string;
  /** Whether the address is one of an attached file, at that origin or elsewhere. */
  isFile(url: URL): boolean;
  /** Calls with the value of the header Authorization. */
  authorized<Result>(
    signal: AbortSignal,
    call: (authorization: string | undefined) => Promise<Result>,
  ): Promise<Result>;
  maxBytes: number;
  /** For all files of a text together: whoever sent the webhook waits. */
  timeoutMs: number;
}

/** A link or picture of Markdown or HTML, else a bare address. Nothing after an address, or it takes the square of the time. */
const links =
  /!?\[(?<label>[^\]\n]{0,200})\]\(\s*<?(?<target>https?:\/\/[^\s<>)]+)|(?<bare>https?:\/\/[^\s<>"')\]]+)/g;
const hasExtension = /\.[a-z0-9]{1,8}$/i;

/** Files that a text of an issue or comment links to, where the product keeps what people attach. */
export function linkedFiles(text: string, host: FileHost): FileSource[] {
  const found = new Map<string, string>();
  for (const { groups = {} } of text.matchAll(links)) {
    const { label = '', target, bare } = groups;
    const url = URL.parse(target ?? bare ?? '');
    if (url === null || found.has(url.href) || !host.isFile(url)) continue;
    found.set(url.href, nameOf(url, label) || `file-${found.size + 1}`);
  }
  const deadline = AbortSignal.timeout(host.timeoutMs);
  return [...found].map(([href, name]) => ({
    name,
    mediaType: '',
    read: (signal) => fetchFile(new URL(href), host, AbortSignal.any([signal, deadline])),
  }));
}

/** Names of pictures are often missing in the address, those of files in the label. */
function nameOf(url: URL, label: string): string {
  const last = safelyDecoded(url.pathname.split('/').at(-1) ?? '');
  return [label, last].find((each) => hasExtension.test(each)) ?? (label || last);
}

function safelyDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function fetchFile(url: URL, host: FileHost, signal: AbortSignal): Promise<Uint8Array> {
  const own = new URL(host.origin);
  const isOwn = url.origin === own.origin;
  const fetch = createGuardedFetch({
    // The operator's own host may be private.
    ...(isOwn && { allowedHosts: [own.hostname] }),
    maxBytes: host.maxBytes,
    timeoutMs: host.timeoutMs,
  });
  const read = async (authorization?: string) => {
    const { status, body } = await fetch(url, {
      signal,
      ...(authorization !== undefined && { headers: { authorization } }),
      // Other ports of a private host are not meant.
      allowsRedirect: (target) => target.origin === own.origin || target.hostname !== own.hostname,
    });
    if (status === 200) return body;
    throw Object.assign(new Error(`its address answers with ${status}`), { status });
  };
  return isOwn ? await host.authorized(signal, read) : await read();
}
