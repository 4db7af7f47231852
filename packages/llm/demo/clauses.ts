const politeness =
  /^(?:(?:hey|hi|hello|ok|okay|so|well|also|and|then|now|please|kindly|just|trunkline)[,!]?\s+|(?:can|could|would|will) you (?:please |kindly )?|i(?:'d| would) like you to |i want you to |go ahead and )/i;

/** Splits a message into stages that run one after the other: "search otters, then remember it". */
export function stagesOf(text: string): string[] {
  return text
    .split(/[,;.]?\s+(?:and\s+)?(?:then|after that|afterwards),?\s+/i)
    .map((stage) => stage.trim())
    .filter(Boolean);
}

/**
 * Splits a stage into clauses that may each hold a wish of their own.
 * A sentence is split at "and" only where both sides are understood, so "tea and coffee" stays whole.
 */
export function clausesOf(stage: string, isUnderstood: (clause: string) => boolean): string[] {
  return stage
    .split(/(?<=[.?!;])\s+|\n+/)
    .flatMap((sentence) => splitAtAnd(sentence.trim(), isUnderstood))
    .map(stripPoliteness)
    .filter(Boolean);
}

function splitAtAnd(sentence: string, isUnderstood: (clause: string) => boolean): string[] {
  const understood = (part: string): boolean => isUnderstood(stripPoliteness(part));
  const [first = '', ...parts] = sentence.split(/(,?\s+(?:and|also|as well as)\s+(?:also\s+)?)/i);
  const clauses = [first];
  for (let index = 0; index < parts.length; index += 2) {
    const [joint = '', part = ''] = parts.slice(index);
    const last = clauses.at(-1) ?? '';
    if (understood(last) && understood(part)) clauses.push(part);
    else clauses[clauses.length - 1] = last + joint + part;
  }
  return clauses;
}

function stripPoliteness(clause: string): string {
  let rest = clause.trim();
  for (let shorter = rest.replace(politeness, ''); shorter !== rest; shorter = rest.replace(politeness, ''))
    rest = shorter;
  return rest.replace(/,?\s+(?:please|thanks|thank you)(?=[.?!]*$)/i, '').trim();
}
