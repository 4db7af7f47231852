import type { EndpointError } from './error-body.ts';

/** These carry the call itself: without them there is nothing to ask. */
const essential = ['model', 'messages'];

const refusing = [
  /not (be )?(supported|permitted|allowed|available|enabled|implemented|recogni[sz]ed|compatible|valid)/i,
  /(does not|doesn't|do not|don't|cannot|can't|can not) (yet )?(support|accept|be used|use|set)/i,
  /(un|in)(supported|recogni[sz]ed|known|expected|valid|compatible)|is not a (known|valid)/i,
  /extra (inputs|fields|parameters)|additional (properties|inputs)|extra_forbidden/i,
  /deprecated|only the default|requires|must be|too large|no endpoints found/i,
];

const toolRefusals = [
  /(support|enable|use|allow|implement)\w* (for )?(the )?(native )?(tools?|functions?)\b/i,
  /(tools?|function)[ _-]?(call\w*|use|usage|choice|param\w*)? .{0,60}(not |un)(be )?(support|enabl|availabl|allow|implement)/i,
  /tools? param requires|tool choice requires|requires .{0,40}(--jinja|tool-call-parser)/i,
  /(parameters|params): \[[^\]]*'tools'/i,
];

/** Whether an error says that the model cannot call tools at all. */
export function refusesTools(
  status: number,
  { message, param }: EndpointError,
  sent: readonly string[],
): boolean {
  if (!mayRefuse(status) || !sent.includes('tools')) return false;
  return param === 'tools'
    ? refusing.some((words) => words.test(message))
    : toolRefusals.some((words) => words.test(message));
}

/** The parameter of a request that the endpoint refuses, when its error names one that was sent. */
export function refusedParameter(
  status: number,
  said: EndpointError,
  sent: readonly string[],
): string | undefined {
  if (
    !mayRefuse(status) ||
    !refusing.some((words) => words.test(`${said.message} ${said.type} ${said.code}`))
  )
    return undefined;
  const candidates = sent.filter((name) => !essential.includes(name) && name !== 'tools');
  const named = candidates.find((name) => names(said.param, name));
  // The longest first: `tool_choice` is no mention of `tool`, but `stream_options` is one of `stream`.
  return (
    named ?? candidates.toSorted((a, b) => b.length - a.length).find((name) => names(said.message, name))
  );
}

/** 500 and 501 too: some servers let the failure of their own check through. */
function mayRefuse(status: number): boolean {
  return [400, 404, 405, 415, 422, 500, 501].includes(status);
}

function names(text: string, parameter: string): boolean {
  const at = text.indexOf(parameter);
  if (at === -1) return false;
  const isWordLike = (character: string | undefined) => character !== undefined && /\w/.test(character);
  return !isWordLike(text[at - 1]) && !isWordLike(text[at + parameter.length]);
}
