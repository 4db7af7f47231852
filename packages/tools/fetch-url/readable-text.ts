import type { GuardedResponse } from '@trunkline/http';
import { parsePage } from '../parsing/parse-page.ts';
import { ParserError } from '../parsing/parser-pool.ts';
import type { Readable } from './readable.ts';

const HTML = new Set(['text/html', 'application/xhtml+xml']);
const TEXTUAL = /^text\/|[/+](?:json|xml|yaml|x-yaml|javascript|ecmascript|toml|csv|x-ndjson)$/;

export async function readableText(response: GuardedResponse, signal: AbortSignal): Promise<Readable> {
  const { contentType, body, truncated } = response;
  if (contentType === 'application/pdf' || startsWith(body, '%PDF-')) {
    if (truncated) return { problem: 'is a PDF of more than 2 MB, which is too large to read' };
    const read = () => parsePage('pdf', new Uint8Array(body), signal);
    return await orProblem(read, 'is a PDF that cannot be read: it ');
  }
  if (isBinary(contentType, body))
    return { problem: `holds ${contentType || 'binary data'}, which is not text` };
  const text = response.text();
  return isHtml(contentType, text) ? await orProblem(() => parsePage('html', text, signal)) : { text };
}

/** A page that cannot be parsed is a problem in words. */
async function orProblem(read: () => Promise<Readable>, opening = ''): Promise<Readable> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ParserError) return { problem: `${opening}${error.message}` };
    throw error;
  }
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
