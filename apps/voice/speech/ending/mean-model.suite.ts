import { type Pieces, writeContent, writeNumber } from '../synthesis/inprocess/kokoro/model.ts';

const text = (number: number, value: string) => writeContent(number, [Buffer.from(value)]);
const message = (number: number, ...fields: Pieces[]) => writeContent(number, fields.flat());

/** A model in the ONNX format that gives the mean of its input, which is 80 bands by 800 steps. */
export function meanModel(): Uint8Array {
  const dimension = (size: number) => message(1, writeNumber(1, size));
  const tensor = (name: string, ...sizes: number[]) => [
    text(1, name),
    message(2, message(1, writeNumber(1, 1), message(2, ...sizes.map(dimension)))),
  ];
  const keepDimensions = message(5, text(1, 'keepdims'), writeNumber(3, 0), writeNumber(20, 2));
  const node = message(1, text(1, 'input_features'), text(2, 'mean'), text(4, 'ReduceMean'), keepDimensions);
  const graph = message(
    7,
    node,
    text(2, 'mean'),
    message(11, ...tensor('input_features', 1, 80, 800)),
    message(12, ...tensor('mean')),
  );
  return Buffer.concat([writeNumber(1, 8), message(8, writeNumber(2, 13)), graph].flat());
}
