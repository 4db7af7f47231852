import { writeFileSync } from 'node:fs';

const size = 128;
const heads = 2;
const headSize = size / heads;
const feedForward = 32;
const contextLength = 65_536;

/** Embedding dimensions with a meaning of their own; the words follow. */
const constant = 0;
const wantsTool = 1;
const firstWord = 2;

const controlToken = 3;
const userDefinedToken = 4;
const byteToken = 6;

interface Token {
  text: string;
  type: number;
}

const template = `{%- if tools %}<|im_start|>system
{% if messages[0].role == 'system' %}{{ messages[0].content + '\\n' }}{% endif %}# Tools
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}<|im_end|>
{% elif messages[0].role == 'system' %}<|im_start|>system
{{ messages[0].content }}<|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == 'user' or (message.role == 'system' and not loop.first) %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% elif message.role == 'assistant' %}<|im_start|>assistant
{% if message.content %}{{ message.content }}{% endif %}
{%- for call in message.tool_calls or [] %}<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% elif message.role == 'tool' %}<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}`;

/** Makes the model call a tool while it stands in the conversation. */
const trigger = '6 times 7';

/** What the model says after its turn begins, and what it says once the trigger stands in the conversation. */
const answer = ['Tiny', ' models', ' say', ' little', '.', '<|im_end|>'];
const call = ['<tool_call>', '\n{"name": "'];

/** Words that a grammar lets through are preferred in this order, so that a forced call is short and sensible. */
const preferred = ['6*7"', 'calculator', 'null', '"', '}', ']', '{', ':', 'expression', '</tool_call>'];

/** Frequent pieces of texts and schemas, so that a prompt has some thousand tokens and not one for each byte. */
const pieces = [
  ...[
    '{"type": "function", "function": {"name": "',
    '"description": "',
    '"properties": {',
    '"type": "string"',
  ],
  ...[
    '"parameters": {"type": "object", ',
    '"type": "',
    '"additionalProperties": ',
    '"required": [',
    '"oneOf": [',
  ],
  ...[
    ' the ',
    ' and ',
    ' that ',
    ' of ',
    ' to ',
    ' is ',
    ' in ',
    ' a ',
    ' with ',
    ' for ',
    ', ',
    '. ',
    'tion',
    'ing',
  ],
  ...'th he in er an re on at en nd ti es or te of ed is it al ar st to nt ng se ha as ou io le ve co me de hi ri ro'.split(
    ' ',
  ),
];

const words = [
  ...new Set([trigger, 'assistant\n', '<tool_response>', ...answer, ...call, ...preferred, ' ']),
];

/**
 * Writes a real GGUF file of some 600 KB whose weights are set by hand: one attention head that notices "6 times 7" (and a
 * tool's result, after which that no longer counts), and a table of which word follows which. It answers "Tiny models say
 * little.", or calls the tool `calculator` where it is offered and "6 times 7" was said.
 */
export function writeTinyGguf(path: string): string {
  const tokens: Token[] = [
    { text: '<unk>', type: 2 },
    { text: '<s>', type: controlToken },
    { text: '<|im_end|>', type: controlToken },
    { text: '<|im_start|>', type: controlToken },
    ...Array.from({ length: 256 }, (_, byte) => ({
      text: `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`,
      type: byteToken,
    })),
    ...[...words.filter((word) => !word.startsWith('<|')), ...pieces].map((text) => ({
      text,
      type: userDefinedToken,
    })),
  ];
  writeFileSync(path, ggufFile(metadata(tokens), tensors(tokens)));
  return path;
}

function metadata(tokens: Token[]): [string, Value][] {
  return [
    ['general.architecture', text('llama')],
    ['general.name', text('Tiny')],
    ['general.file_type', number(0)],
    ['llama.vocab_size', number(tokens.length)],
    ['llama.context_length', number(contextLength)],
    ['llama.embedding_length', number(size)],
    ['llama.block_count', number(1)],
    ['llama.feed_forward_length', number(feedForward)],
    ['llama.attention.head_count', number(heads)],
    ['llama.attention.head_count_kv', number(heads)],
    ['llama.attention.layer_norm_rms_epsilon', float(1e-5)],
    ['llama.rope.dimension_count', number(headSize)],
    // So slow that the last dimensions hardly turn: they carry what the head looks for.
    ['llama.rope.freq_base', float(1e12)],
    ['tokenizer.ggml.model', text('llama')],
    [
      'tokenizer.ggml.tokens',
      list(
        text,
        tokens.map(({ text: each }) => each),
      ),
    ],
    [
      'tokenizer.ggml.scores',
      list(
        float,
        tokens.map(() => 0),
      ),
    ],
    [
      'tokenizer.ggml.token_type',
      list(
        integer,
        tokens.map(({ type }) => type),
      ),
    ],
    ['tokenizer.ggml.bos_token_id', number(1)],
    ['tokenizer.ggml.eos_token_id', number(2)],
    ['tokenizer.ggml.unknown_token_id', number(0)],
    ['tokenizer.ggml.add_bos_token', flag(false)],
    ['tokenizer.ggml.add_space_prefix', flag(false)],
    ['tokenizer.chat_template', text(template)],
  ];
}

interface Tensor {
  name: string;
  /** Columns first, as ggml counts. */
  shape: number[];
  data: Float32Array;
}

function tensors(tokens: Token[]): Tensor[] {
  const idOf = (word: string) => tokens.findIndex(({ text: each }) => each === word);
  const dimensionOf = (word: string) => firstWord + words.indexOf(word);
  const embedding = matrix(size, tokens.length);
  const output = matrix(size, tokens.length);
  for (const [id, token] of tokens.entries()) {
    embedding.set(constant, id, 1);
    if (words.includes(token.text)) embedding.set(dimensionOf(token.text), id, 1);
    if (token.type === controlToken) output.set(constant, id, -10);
  }
  for (const [place, word] of preferred.entries()) output.set(constant, idOf(word), preferred.length - place);
  const follows = (before: string, after: string, weight: number) =>
    output.set(dimensionOf(before), idOf(after), weight);
  follows('assistant\n', 'Tiny', 30);
  follows('assistant\n', '<tool_call>', 45);
  output.set(constant, idOf('<tool_call>'), -20);
  output.set(wantsTool, idOf('<tool_call>'), 20);
  for (const chain of [answer, call, ['</tool_call>', '<|im_end|>']])
    for (const [place, word] of chain.slice(1).entries()) follows(chain[place] ?? '', word, 60);

  const [query, key, value, out] = [
    matrix(size, size),
    matrix(size, size),
    matrix(size, size),
    matrix(size, size),
  ];
  const slowest = headSize - 1;
  query.set(constant, slowest, 2);
  key.set(dimensionOf(trigger), slowest, 2);
  key.set(dimensionOf('<tool_response>'), slowest, 4);
  value.set(dimensionOf(trigger), 0, 0.125);
  value.set(dimensionOf('<tool_response>'), 0, -0.125);
  out.set(0, wantsTool, 1);
  const ones = { shape: [size], data: new Float32Array(size).fill(1) };
  return [
    { name: 'token_embd.weight', ...embedding },
    { name: 'blk.0.attn_norm.weight', ...ones },
    { name: 'blk.0.attn_q.weight', ...query },
    { name: 'blk.0.attn_k.weight', ...key },
    { name: 'blk.0.attn_v.weight', ...value },
    { name: 'blk.0.attn_output.weight', ...out },
    { name: 'blk.0.ffn_norm.weight', ...ones },
    { name: 'blk.0.ffn_gate.weight', ...matrix(size, feedForward) },
    { name: 'blk.0.ffn_up.weight', ...matrix(size, feedForward) },
    { name: 'blk.0.ffn_down.weight', ...matrix(feedForward, size) },
    { name: 'output_norm.weight', ...ones },
    { name: 'output.weight', ...output },
  ];
}

function matrix(columns: number, rows: number) {
  const data = new Float32Array(columns * rows);
  const set = (column: number, row: number, value: number) => {
    data[row * columns + column] = value;
  };
  return { shape: [columns, rows], data, set };
}

interface Value {
  type: number;
  bytes: Buffer;
}

const alignment = 32;

function ggufFile(entries: [string, Value][], all: Tensor[]): Buffer {
  const head = [Buffer.from('GGUF'), uint32(3), uint64(all.length), uint64(entries.length)];
  for (const [key, value] of entries) head.push(chars(key), uint32(value.type), value.bytes);
  const data: Buffer[] = [];
  let offset = 0;
  for (const { name, shape, data: numbers } of all) {
    const bytes = padded(Buffer.from(numbers.buffer, numbers.byteOffset, numbers.byteLength));
    head.push(chars(name), uint32(shape.length), ...shape.map(uint64), uint32(0), uint64(offset));
    data.push(bytes);
    offset += bytes.length;
  }
  return Buffer.concat([padded(Buffer.concat(head)), ...data]);
}

function padded(bytes: Buffer): Buffer {
  const missing = (alignment - (bytes.length % alignment)) % alignment;
  return Buffer.concat([bytes, Buffer.alloc(missing)]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function chars(value: string): Buffer {
  return Buffer.concat([uint64(Buffer.byteLength(value)), Buffer.from(value)]);
}

const text = (value: string): Value => ({ type: 8, bytes: chars(value) });
const number = (value: number): Value => ({ type: 4, bytes: uint32(value) });
const flag = (value: boolean): Value => ({ type: 7, bytes: Buffer.from([value ? 1 : 0]) });
const integer = (value: number): Value => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return { type: 5, bytes };
};
const float = (value: number): Value => {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return { type: 6, bytes };
};

function list<Item>(make: (item: Item) => Value, items: Item[]): Value {
  const values = items.map(make);
  const type = values[0]?.type ?? 4;
  return {
    type: 9,
    bytes: Buffer.concat([uint32(type), uint64(items.length), ...values.map(({ bytes }) => bytes)]),
  };
}
