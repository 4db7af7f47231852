import type { GuardedResponse } from '@trunkline/http';
import { isTooDeep } from './html-depth.ts';
import { htmlText } from './html-text.ts';
import { pdfText } from './pdf-text.ts';
import type { Readable } from './readable.ts';

const HTML = new Set(['text/html', 'application/xhtml+xml']);
const TEXTUAL = /^text\/|[/+](?:json|xml|yaml|x-yaml|javascript|ecmascript|toml|csv|x-ndjson)$/;

export async function readableText(response: GuardedResponse, signal: AbortSignal): Promise<Readable> {
  const { contentType, body } = response;
  if (contentType === 'application/pdf' || startsWith(body, '%PDF-')) return await pdfText(response, signal);
  if (isBinary(contentType, body))
    return { problem: `holds ${contentType || 'binary data'}, which is not text` };
  const text = response.text();
  if (!isHtml(contentType, text)) return { text };
  return isTooDeep(text) ? { problem: 'is nested too deep to be read' } : { text: await htmlText(text) };
}

function isHtml(contentType: string, text: string): boolean {
  return HTML.has(contentType) || (contentType === '' && /^\s*<(?:!doctype html|html)[\s>]/i.test(text));
}

/** A declared text type is believed; otherwise a NUL byte among the first ones gives binary data away. */
function isBinary(contentType: string, body: Uint8Array): boolean {
  if (TEXTUAL.test(contentType)) return false;
  if (/^(?:image|audio|video|font)\//.test(contentType)) return true;
  return body.subarray(0, 1024).includes(0);
}

function startsWith(body: Uint8Array, opening: string): boolean {
  return Buffer.from(body.subarray(0, opening.length)).toString('latin1') === opening;
}
