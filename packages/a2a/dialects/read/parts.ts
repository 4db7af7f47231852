import { invalidParams } from '../../errors/a2a-error.ts';
import type { FilePart, Part } from '../../protocol/model.ts';
import { field, isObject, type JsonObject, optionalMetadata, optionalText } from './values.ts';

export interface ReadParts {
  parts: Part[];
  /** The media types that the sender declared. */
  mediaTypes: string[];
}

/** Takes parts in the spelling of either version. With `nestedData`, a data part is wrapped as 0.3's REST has it. */
export function readParts(value: unknown, nestedData: boolean): ReadParts {
  if (!Array.isArray(value) || value.length === 0)
    throw invalidParams('message.parts must hold at least one part');
  const read = value.map((part) => readPart(part, nestedData));
  return {
    parts: read.map(({ part }) => part),
    mediaTypes: read.flatMap(({ mediaType }) => (mediaType === undefined ? [] : [mediaType])),
  };
}

function readPart(value: unknown, nestedData: boolean): { part: Part; mediaType: string | undefined } {
  if (!isObject(value)) throw invalidParams('every part of a message must be an object');
  const metadata = optionalMetadata(value);
  const part = { ...readContent(value, nestedData), ...(metadata && { metadata }) };
  const mediaType = part.type === 'file' ? part.mediaType : declaredType(value);
  return { part, mediaType };
}

function readContent(value: JsonObject, nestedData: boolean): Part {
  if (typeof value.text === 'string') return { type: 'text', text: value.text };
  const file = field(value, 'file');
  if (isObject(file)) return readFile(file);
  if (typeof value.raw === 'string' || typeof value.url === 'string') return readFile(value);
  if (field(value, 'data') !== undefined) return { type: 'data', data: readData(value.data, nestedData) };
  throw invalidParams('a part must hold text, a file or data');
}

function readFile(file: JsonObject): FilePart {
  const bytes = firstText(file, ['raw', 'bytes', 'fileWithBytes']);
  const uri = firstText(file, ['url', 'uri', 'fileWithUri']);
  if (bytes === undefined && uri === undefined)
    throw invalidParams('a file part must hold its content or its url');
  const name = firstText(file, ['filename', 'name']);
  const mediaType = declaredType(file);
  return {
    type: 'file',
    ...(bytes === undefined ? { uri: uri ?? '' } : { bytes }),
    ...(name !== undefined && { name }),
    ...(mediaType !== undefined && { mediaType }),
  };
}

function readData(data: unknown, nested: boolean): unknown {
  return nested && isObject(data) && 'data' in data ? data.data : data;
}

function declaredType(object: JsonObject): string | undefined {
  return firstText(object, ['mediaType', 'mimeType']);
}

function firstText(object: JsonObject, names: readonly string[]): string | undefined {
  for (const name of names) {
    const text = optionalText(object, name);
    if (text !== undefined) return text;
  }
  return undefined;
}
