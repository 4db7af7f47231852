/** What an answer that is no page needs: nothing may be loaded by it or framed. */
const API_POLICY = "default-src 'none'; frame-ancestors 'none'";

/** Everything from the service itself; blobs are recordings and workers that a page makes. */
export const PAGE_POLICY = [
  "default-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "media-src 'self' blob:",
  "worker-src 'self' blob:",
  "object-src 'none'",
  "base-uri 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'cross-origin-resource-policy': 'same-origin',
  'content-security-policy': API_POLICY,
} as const;

/** The headers of every answer; an answer that sets one itself keeps its own. */
export function standardHeaders(requestId: string): Record<string, string> {
  return { ...SECURITY_HEADERS, 'x-request-id': requestId };
}

/** A response that came out of fetch cannot be changed and is copied first. */
export function withHeaders(response: Response, headers: Readonly<Record<string, string>>): Response {
  try {
    addMissing(response.headers, headers);
    return response;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const copy = new Response(response.body, response);
    addMissing(copy.headers, headers);
    return copy;
  }
}

function addMissing(target: Headers, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (!target.has(name)) target.set(name, value);
  }
}
