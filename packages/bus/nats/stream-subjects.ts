import { errorMessage } from '@trunkline/std';
import { coversPattern } from '../topics/topic.ts';

/** Subjects of a stream that take all of both lists, each message once: NATS refuses subjects that overlap. */
export function joinedSubjects(known: readonly string[], wanted: readonly string[]): string[] {
  const all = [...new Set([...known, ...wanted])];
  return all.filter((subject) => !all.some((other) => other !== subject && coversSubject(other, subject)));
}

/** The wanted subjects that a stream with the known ones does not take. */
export function lackingSubjects(known: readonly string[], wanted: readonly string[]): string[] {
  return wanted.filter((subject) => !known.some((other) => coversSubject(other, subject)));
}

/** Whether the first takes every message that the second takes. */
export function coversSubject(outer: string, inner: string): boolean {
  return coversPattern(asPattern(outer), asPattern(inner));
}

/** `>` of NATS stands for one token or more, `#` of a pattern for none or more. */
function asPattern(subject: string): string {
  return subject.replace(/(?<=^|\.)>$/, '*.#');
}

/** Words for the operator. */
export function cannotAdd(name: string, subjects: readonly string[], error: unknown): string {
  return `The stream ${name} on NATS does not take ${subjects.join(', ')}, and NATS refused to add them: ${errorMessage(error)}. Messages of those topics cannot be stored. Let the user of this bus update the stream, or add the subjects with the nats command.`;
}
