import type { EndpointError } from './error-body.ts';

/** Without these there is nothing to ask; tools have a way of their own. */
const essential = ['model', 'messages', 'tools'];

/** The endpoint does not know or take the parameter, whatever its value. */
const refusing = [
  /not (be )?(supported|permitted|allowed|available|enabled|implemented|recogni[sz]ed|compatible)/i,
  /(does not|doesn't|do not|don't|cannot|can't|can not) (yet )?(support|accept|be used|use|set)/i,
  /un(supported|recogni[sz]ed|known|expected|available)|incompatible|is not a (known|valid)/i,
  /invalid (parameter|argument|field|property)/i,
  /extra (inputs|fields|parameters)|additional (properties|inputs)|extra_forbidden/i,
  /deprecated|only the default|no endpoints found/i,
];

/** The endpoint does not take this value. For these parameters no value at all is better than no answer. */
const refusingValue = /invalid|must be|too large|too high|exceeds|supported (string )?values/i;
const dispensable = ['max_tokens', 'max_completion_tokens', 'response_format', 'tool_choice'];

/** The endpoint does not take a part of the schema that one caller sent. */
const refusingSchema =
  /invalid[ _](json[ _])?schema|invalid_function_parameters|['"`](oneOf|anyOf|allOf|m(in|ax)(Length|Items)|pattern|format)['"`]/i;

/** Some endpoints take tools or a format of the answer, but not both in one request (Gemini, Groq). */
const aboutFormat = /mime.?type|response.?format|json.?mode/i;

const toolRefusals = [
  /(support|enable|use|allow|implement)\w* (for )?(the )?(native )?(tools?|functions?)\b/i,
  /(tools?|function)[ _-]?(call\w*|use|usage|choice|param\w*)? .{0,60}(not |un)(be )?(support|enabl|availabl|allow|implement)/i,
  /tools? param requires|tool choice requires|requires .{0,40}(--jinja|tool-call-parser)/i,
  /(parameters|params): \[[^\]]*'tools'|(un|not )(supported|recogni[sz]ed|known) param\w*: '?tools\b/i,
];

/** Whether an error says that the model cannot call tools at all. */
export function refusesTools(
  status: number,
  { message, param }: EndpointError,
  sent: readonly string[],
): boolean {
  if (!mayRefuse(status) || !sent.includes('tools') || refusingSchema.test(message)) return false;
  if (sent.includes('response_format') && aboutFormat.test(message)) return false;
  if (param === 'tools') return refusing.some((words) => words.test(message));
  const isAboutCalling = ['tool_choice', 'parallel_tool_calls'].some((name) => names(message, name));
  if (isAboutCalling && !names(message, 'tools')) return false;
  return toolRefusals.some((words) => words.test(message));
}

/** Whether an error is about the schema of a tool: others may be taken. */
export function refusesToolSchema(
  status: number,
  { message, code, param }: EndpointError,
  sent: readonly string[],
): boolean {
  if (!mayRefuse(status) || !sent.includes('tools')) return false;
  return refusingSchema.test(`${message} ${code}`) && /\b(function|tools?)\b/i.test(`${message} ${param}`);
}

export interface Refusal {
  parameter: string;
  /** Whether it holds for later calls too: a value that is refused says nothing about other values. */
  isLasting: boolean;
}

/** The parameter of a request that the endpoint refuses, when its error names one that was sent. */
export function refusedParameter(
  status: number,
  said: EndpointError,
  sent: readonly string[],
): Refusal | undefined {
  if (!mayRefuse(status)) return undefined;
  const words = `${said.message} ${said.type} ${said.code}`;
  const isKnown = refusing.some((pattern) => pattern.test(words));
  const hasBoth = sent.includes('tools') && sent.includes('response_format');
  if (
    hasBoth &&
    (isKnown || /combin/i.test(words)) &&
    aboutFormat.test(words) &&
    /tool|function/i.test(words)
  )
    return { parameter: 'response_format', isLasting: false };
  const isRefused = (name: string) => isKnown || (dispensable.includes(name) && refusingValue.test(words));
  const candidates = sent.filter(
    (name) => !essential.includes(name) && /^\w+$/.test(name) && isRefused(name),
  );
  const parameter =
    candidates.find((name) => names(said.param, name)) ??
    candidates.find((name) => names(said.message, name));
  if (parameter === undefined) return undefined;
  const isLasting = isKnown && !refusingSchema.test(words) && !namesValue(said.message, parameter);
  return { parameter, isLasting };
}

/** Whether the words name the value that is refused, or those that are not. A number stands for all but the default. */
function namesValue(message: string, parameter: string): boolean {
  const value = /(?:does not|doesn't) support ['"`]([^'"`]*)/i.exec(message)?.[1];
  return (value !== undefined && value !== parameter) || wrongValue.test(message);
}

const wrongValue =
  /supported (string )?values|must be (an? |at |between|in |one of|less|greater)|out of range|unknown (tool|function)/i;

/** 500 and 501 too: some servers let the failure of their own check through. */
function mayRefuse(status: number): boolean {
  return [400, 404, 405, 415, 422, 500, 501].includes(status);
}

/** Names that are ordinary words count only where they stand as a name. */
const ordinaryWords = ['stop', 'user', 'seed', 'stream', 'store', 'reasoning', 'tools'];

/** Endpoints say `max_tokens` also where they mean `max_completion_tokens`. */
function names(text: string, parameter: string): boolean {
  const pattern = ordinaryWords.includes(parameter)
    ? `(^|['"\`\\[.]|(parameter|argument|field|property)s?:? )${parameter}($|['"\`\\].:])`
    : `(^|\\W)${parameter.replace('completion_', '(completion_)?')}($|\\W)`;
  return new RegExp(pattern, 'i').test(text);
}
