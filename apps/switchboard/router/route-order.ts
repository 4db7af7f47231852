import { matchesTopic } from '@trunkline/bus';
import { fieldsOf } from '../dispatch/request.ts';
import type { Route } from '../workspace/schema/agent.ts';

/** In the order in which routes run: higher priority, then more specific pattern, then more conditions, then name. */
export function inOrder(routes: readonly Route[]): Route[] {
  return routes.toSorted(compareRoutes);
}

/**
 * The routes that a message runs, in order, up to one with `stop`. Where it is not set, the first route takes a message
 * that somebody sent, as the sender expects one answer, and all routes run for any other topic.
 */
export function routesFor(
  message: { topic: string; payload: unknown },
  routes: readonly Route[],
  { isSent }: { isSent: boolean },
): Route[] {
  const matching = inOrder(routes.filter((route) => matchesRoute(route, message)));
  const last = matching.findIndex(({ stop }) => stop ?? isSent);
  return last === -1 ? matching : matching.slice(0, last + 1);
}

function matchesRoute(
  { when, enabled }: Route,
  { topic, payload }: { topic: string; payload: unknown },
): boolean {
  if (!enabled || !matchesTopic(when.topic, topic)) return false;
  return Object.entries(when.match).every(([path, wanted]) => valueAt(payload, path) === wanted);
}

function compareRoutes(one: Route, other: Route): number {
  return (
    other.priority - one.priority ||
    comparePatterns(one.when.topic, other.when.topic) ||
    Object.keys(other.when.match).length - Object.keys(one.when.match).length ||
    compareText(one.name, other.name)
  );
}

/** The more specific pattern first: segment by segment, a name before `*` before the end before `#`. */
function comparePatterns(one: string, other: string): number {
  const [left, right] = [one.split('.'), other.split('.')];
  for (let index = 0; index < Math.max(left.length, right.length); index += 1) {
    const difference = rank(right[index]) - rank(left[index]);
    if (difference !== 0) return difference;
  }
  return 0;
}

function rank(segment: string | undefined): number {
  if (segment === '#') return 0;
  if (segment === undefined) return 1;
  return segment === '*' ? 2 : 3;
}

/** By code unit: the same on every machine, whatever its language. */
function compareText(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

function valueAt(payload: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((part, step) => fieldsOf(part)[step], payload);
}
