import type { JSONSchema7 } from '@ai-sdk/provider';
import { fillSchema } from './schema.ts';
import type { Call, OfferedTool, Situation } from './types.ts';

/** A call whose arguments fit the tool: foreign keys dropped, missing required ones filled from the words. */
export function callOf(tool: OfferedTool, given: Record<string, unknown>, words = ''): Call {
  const properties = propertiesOf(tool);
  const kept = Object.entries(given).filter(
    ([name, value]) =>
      value !== undefined && (name in properties || tool.schema.additionalProperties === true),
  );
  const input: Record<string, unknown> = Object.fromEntries(kept);
  for (const name of tool.schema.required ?? []) {
    const schema = properties[name];
    if (!(name in input) && typeof schema === 'object') {
      input[name] = fillSchema({ ...schema, $defs: tool.schema.$defs ?? {} }, { name, text: words });
    }
  }
  return { tool: tool.name, input };
}

/** One call of the named tool, if the request offers it. */
export function offeredCall(
  name: string,
  input: Record<string, unknown>,
  { tools }: Situation,
): Call[] | undefined {
  const tool = tools.get(name);
  return tool === undefined ? undefined : [callOf(tool, input)];
}

/** The parameter that takes the main words: the first required text, else the first text. */
export function mainParameter(tool: OfferedTool): string | undefined {
  const properties = propertiesOf(tool);
  const isText = (name: string): boolean => {
    const schema = properties[name];
    return typeof schema === 'object' && (schema.type ?? 'string') === 'string' && schema.enum === undefined;
  };
  return (tool.schema.required ?? []).find(isText) ?? Object.keys(properties).find(isText);
}

/** The values a parameter may take, when the tool lists them. */
export function choicesOf(tool: OfferedTool, parameter: string): string[] {
  const schema = propertiesOf(tool)[parameter];
  return typeof schema === 'object' ? (schema.enum ?? []).map(String) : [];
}

function propertiesOf(tool: OfferedTool): NonNullable<JSONSchema7['properties']> {
  return tool.schema.properties ?? {};
}
