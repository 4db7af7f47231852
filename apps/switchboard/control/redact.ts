import type { Message } from '@trunkline/bus';
import { isSecretName, redact } from '@trunkline/config';
import { isPair, isScalar, isSeq, type Node, parse, parseDocument, stringify, visit } from 'yaml';
import { fieldsOf, text } from '../dispatch/request.ts';
import { type Kind, kinds } from '../workspace/kinds.ts';

const hidden = '[redacted]';
/** Every value of these maps may be a credential. */
const secretMaps: ReadonlySet<string> = new Set(['env', 'headers']);
const wordsForUnreadable = '# Not shown: it is no valid YAML, and may hold secrets.\n';

/** Whether files of this kind may hold credentials; `file` is the kind of those that no command writes. */
export function holdsSecrets(kind: string): boolean {
  return (
    kind === 'file' || (kind in kinds && (kinds[kind as keyof typeof kinds] as Kind).confidential === true)
  );
}

/** The text without its credentials, all else as written; `${VARIABLE}` is none. */
export function redactText(source: string): string {
  const document = parseDocument(source, { prettyErrors: false, logLevel: 'silent' });
  if (document.errors.length > 0) return wordsForUnreadable;
  const places: { from: number; to: number; shown: string }[] = [];
  visit(document, {
    Value(key, node, path) {
      if (
        key === 'key' ||
        node.range === undefined ||
        node.range === null ||
        !('value' in node || 'source' in node)
      )
        return;
      const shown = shownValue(key, node, path);
      if (shown !== undefined) places.push({ from: node.range[0], to: node.range[1], shown });
    },
    Alias(key, node, path) {
      if (key !== 'key' && node.range && isSecretPlace(path))
        places.push({ from: node.range[0], to: node.range[1], shown: hidden });
    },
  });
  return places.reduceRight((whole, { from, to, shown }) => {
    const end = whole.slice(from, to).endsWith('\n') ? '\n' : '';
    return `${whole.slice(0, from)}${JSON.stringify(shown)}${end}${whole.slice(to)}`;
  }, source);
}

export function redactEntry(entry: unknown): unknown {
  return parse(redactText(stringify(entry)));
}

/** Redacts commands and shared files that older versions or other programs put on the bus in full. */
export function redactMessage(message: Message): Message {
  const [first, second] = message.topic.split('.');
  const payload = fieldsOf(message.payload);
  if (first === 'command' && second !== undefined && holdsSecrets(second)) {
    const { yaml, entry, ...rest } = payload;
    return {
      ...message,
      payload: {
        ...rest,
        ...(text(yaml) !== undefined && { yaml: redactText(text(yaml) ?? '') }),
        ...(entry !== undefined && { entry: redactEntry(entry) }),
      },
    };
  }
  if (message.topic !== 'config.files') return message;
  const entry = fieldsOf(payload.entry);
  const content = text(entry.text);
  if (content === undefined || !holdsSecrets(String(entry.kind))) return message;
  return { ...message, payload: { ...payload, entry: { ...entry, text: redactText(content) } } };
}

/** What to show instead of a value; undefined when it may be shown. */
function shownValue(key: unknown, node: Node, path: readonly unknown[]): string | undefined {
  if (!isScalar(node)) return undefined;
  const value = String(node.value ?? '');
  if (value === '' || isReference(value)) return undefined;
  if (isSecretPlace(path) || followsSecretFlag(key, path)) return hidden;
  const shown = String(redact(value)).replace(/^(--?[\w-]+|\w+)=(?!\$\{)(.+)$/s, (whole, name: string) =>
    isSecretName(name) ? `${name}=${hidden}` : whole,
  );
  return shown === value ? undefined : shown;
}

function isSecretPlace(path: readonly unknown[]): boolean {
  return path.some(
    (step) =>
      isPair(step) &&
      isScalar(step.key) &&
      (secretMaps.has(String(step.key.value)) || isSecretName(String(step.key.value))),
  );
}

/** `args: [--token, abc]` */
function followsSecretFlag(key: unknown, path: readonly unknown[]): boolean {
  const list = path.at(-1);
  if (!isSeq(list) || typeof key !== 'number') return false;
  const before = list.items[key - 1];
  return isScalar(before) && /^--?\w/.test(String(before.value)) && isSecretName(String(before.value));
}

/** A value made of variables and references to secrets only; a default behind `:-` may be a credential. */
function isReference(value: string): boolean {
  const rest = value.replace(/\$\{(?:[A-Za-z_][A-Za-z0-9_]*|secret:[\w.-]+)\}/g, '');
  return rest !== value && /^(?:bearer|basic|token)?\s*$/i.test(rest);
}
