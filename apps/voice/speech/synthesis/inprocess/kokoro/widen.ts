import { type Field, fieldsOf, type Pieces, writeContent, writeNumber } from './protobuf.ts';

/** Numbers of the element types in the ONNX format. */
const half = 10;
const single = 1;

type Rewrite = (content: Uint8Array) => Pieces;

/**
 * Turns a model of half-precision numbers into one of single precision. Kokoro overflows in half precision for some
 * texts and gives no sound; processors compute in single precision anyway.
 */
export function widenModel(model: Uint8Array): Uint8Array {
  return Buffer.concat(rewrite(model, { 7: widenGraph }));
}

function widenGraph(graph: Uint8Array): Pieces {
  return rewrite(graph, { 1: widenNode, 5: widenTensor, 11: widenValue, 12: widenValue, 13: () => [] });
}

function widenNode(node: Uint8Array): Pieces {
  return rewrite(node, { 5: widenAttribute });
}

/** Types stand in the attributes `to` and `dtype`; tensors and inner graphs in others. */
function widenAttribute(attribute: Uint8Array): Pieces {
  const [name] = [...fieldsOf(attribute)].filter(({ number }) => number === 1);
  const isType = ['to', 'dtype'].includes(Buffer.from(name?.content ?? []).toString('utf8'));
  return rewrite(attribute, { 5: widenTensor, 6: widenGraph }, isType ? 3 : undefined);
}

function widenValue(value: Uint8Array): Pieces {
  return rewrite(value, { 2: (type) => rewrite(type, { 1: (tensor) => rewrite(tensor, {}, 1) }) });
}

function widenTensor(tensor: Uint8Array): Pieces {
  const fields = [...fieldsOf(tensor)];
  if (!fields.some(({ number, value }) => number === 2 && value === half)) return [tensor];
  return fields.flatMap((field) => {
    if (field.number === 2) return writeNumber(2, single);
    if (field.number === 9) return writeContent(9, [widenNumbers(field)]);
    if (field.number === 5) throw new Error('the model keeps its numbers in another way than expected');
    return [field.whole];
  });
}

function widenNumbers({ content = new Uint8Array() }: Field): Uint8Array {
  // Copied, as the numbers must stand at an even place.
  const halves = new Float16Array(new Uint8Array(content).buffer);
  return new Uint8Array(new Float32Array(halves).buffer);
}

/** Rewrites fields by their number; the field that holds an element type becomes single where it was half. */
function rewrite(message: Uint8Array, rewrites: Record<number, Rewrite>, typeField?: number): Pieces {
  const pieces: Uint8Array[] = [];
  for (const { number, value, content, whole } of fieldsOf(message)) {
    const change = rewrites[number];
    if (change !== undefined && content !== undefined) pieces.push(...writtenBy(number, change(content)));
    else if (number === typeField && value === half) pieces.push(...writeNumber(number, single));
    else pieces.push(whole);
  }
  return pieces;
}

/** What is rewritten to nothing is left out. */
function writtenBy(number: number, content: Pieces): Pieces {
  return content.length === 0 ? [] : writeContent(number, content);
}
