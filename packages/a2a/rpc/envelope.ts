import { parseJson as parseUntrusted } from '@trunkline/http';
import type { Dialect } from '../dialects/dialect.ts';
import { isObject, type JsonObject } from '../dialects/read/values.ts';
import { A2aError, invalidParams } from '../errors/a2a-error.ts';
import { errorDetails } from '../errors/error-details.ts';

export type RpcId = string | number | null;

export interface RpcRequest {
  /** Undefined for a notification, which wants no answer. */
  id: RpcId | undefined;
  method: string;
  params: JsonObject;
}

export function parseJson(text: string): unknown {
  try {
    return parseUntrusted(text);
  } catch (error) {
    throw new A2aError('PARSE_ERROR', 'Parse error: the body is not valid JSON', { cause: error });
  }
}

export function readRequest(value: unknown): RpcRequest {
  if (!isObject(value)) throw invalidRequest('it must be an object');
  if (value.jsonrpc !== '2.0') throw invalidRequest('jsonrpc must be "2.0"');
  if (value.id !== undefined && idOf(value) === undefined)
    throw invalidRequest('id must be a text or a number');
  if (typeof value.method !== 'string') throw invalidRequest('method must be a text');
  const id = 'id' in value ? idOf(value) : undefined;
  return { id, method: value.method, params: readParams(value.params) };
}

/** The id to answer under, also when the rest of the request is wrong. */
export function idOf(value: unknown): RpcId | undefined {
  const id = isObject(value) ? value.id : undefined;
  return typeof id === 'string' || typeof id === 'number' || id === null ? id : undefined;
}

function readParams(params: unknown): JsonObject {
  if (params === undefined || params === null) return {};
  if (isObject(params)) return params;
  throw invalidParams('params must be an object');
}

function invalidRequest(reason: string): A2aError {
  return new A2aError('INVALID_REQUEST', `Invalid request: ${reason}`);
}

/** The text of an answer; the result is written as JSON only once. */
export function resultText(id: RpcId, result: unknown): string {
  return wrapResult(id, JSON.stringify(result));
}

export function wrapResult(id: RpcId, result: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`;
}

export function errorText(id: RpcId, error: A2aError, dialect: Dialect): string {
  const { message, binding } = error;
  const data = dialect.version === '1.0' ? errorDetails(error) : undefined;
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code: binding.code, message, data } });
}
