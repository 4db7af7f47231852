import type { LanguageModelV4 } from '@ai-sdk/provider';
import { BoundedMap } from '@trunkline/std';
import type { Endpoint } from '../endpoint.ts';
import { type Logger, tellNote } from '../retry.ts';
import { endpointKind, isLocalAddress } from './endpoint-kind.ts';
import { priceOf } from './prices.ts';
import { type ModelProfile, profileFromTable } from './table.ts';

export type { ModelProfile } from './table.ts';

/** Where a model of our gateway stands, and what the configuration says of it. */
export interface ModelOrigin {
  endpoint: Endpoint;
  modelId: string;
  /** Facts from the configuration, as they are now; never changed in place. */
  configured: () => Readonly<Partial<ModelProfile>>;
  logger?: Logger | undefined;
}

/** A symbol, so that a copy of a model (`{ ...model }`) keeps its origin. */
const originKey = Symbol('origin of a model');

const mostLearned = 500;
const learned = new BoundedMap<string, Partial<ModelProfile>>(mostLearned);

/** Marks a model as one of our gateway's, so that its profile can be found. */
export function withOrigin<Model extends object>(model: Model, origin: ModelOrigin): Model {
  return Object.assign(model, { [originKey]: origin });
}

/** Where a model of our gateway stands; undefined for others and for the demo model. */
export function originOf(model: object): ModelOrigin | undefined {
  return (model as { [originKey]?: ModelOrigin })[originKey];
}

/** How a model behaves, as far as is known now: by the table, the configuration and what was learned. */
export function profileOf(model: object): Readonly<ModelProfile> {
  const origin = originOf(model);
  return origin === undefined ? profileFromTable('other', '', false) : profileAt(origin);
}

/** How long a service waits for a model that is silent, where it says nothing else. */
export const usualSilenceMs = 600_000;

/** So that the words about a first token that did not come name the limit of the model, which struck first. */
const firstTokenMarginMs = 5000;

/** How long a silent model is waited for: as set, else for the usual time and at least until its first token is overdue. */
export function silenceLimitMs(model: object, set: number | undefined): number {
  return set ?? Math.max(usualSilenceMs, profileOf(model).firstTokenMs + firstTokenMarginMs);
}

/** Tokens of the longest answer, where the configuration says so: then answers are cut to it. */
export function answerLimitOf(model: object): number | undefined {
  return originOf(model)?.configured().outputTokens;
}

/** The last profile of each place, and what it was put together from; each step of a turn asks several times. */
const joined = new WeakMap<ModelOrigin, { own: object; seen: object | undefined; profile: ModelProfile }>();

export function profileAt(origin: ModelOrigin): Readonly<ModelProfile> {
  const own = origin.configured();
  const seen = learned.get(keyOf(origin));
  const known = joined.get(origin);
  if (known?.own === own && known.seen === seen) return known.profile;
  const profile = joinProfile(origin, own, seen);
  joined.set(origin, { own, seen, profile });
  return profile;
}

function joinProfile(
  { endpoint, modelId }: ModelOrigin,
  own: Partial<ModelProfile>,
  seen: Partial<ModelProfile> = {},
): ModelProfile {
  const { baseUrl } = endpoint;
  const table = profileFromTable(endpointKind(baseUrl), modelId, isLocalAddress(baseUrl));
  const price = own.price ?? priceOf(modelId);
  const window = own.contextTokens ?? seen.contextTokens ?? table.contextTokens;
  return {
    ...table,
    ...own,
    ...seen,
    omitParameters: [
      ...new Set([...(own.omitParameters ?? table.omitParameters), ...(seen.omitParameters ?? [])]),
    ],
    ...(window !== undefined && { contextTokens: window }),
    ...(price !== undefined && { price }),
  };
}

/**
 * Remembers facts that an endpoint showed, in memory, for all gateways of the process. Parameters to leave out are added
 * to those known. The reason is for people: it is logged once, and told to the one whose turn it was, unless it changes
 * nothing for them.
 */
export function learn(
  subject: LanguageModelV4 | Pick<ModelOrigin, 'endpoint' | 'modelId'>,
  facts: Partial<ModelProfile>,
  reason: string,
  { quiet = false } = {},
): void {
  const origin = 'endpoint' in subject ? subject : originOf(subject);
  if (origin === undefined) return;
  const key = keyOf(origin);
  const before = learned.get(key) ?? {};
  const omitParameters = [...new Set([...(before.omitParameters ?? []), ...(facts.omitParameters ?? [])])];
  const after = { ...before, ...facts, ...(omitParameters.length > 0 && { omitParameters }) };
  if (isSame(before, after)) return;
  learned.set(key, after);
  const { logger } = 'logger' in origin ? (origin as ModelOrigin) : {};
  logger?.warn(
    { model: origin.modelId, endpoint: origin.endpoint.shownUrl, reason },
    'learned about the model',
  );
  if (!quiet) tellNote(reason);
}

function isSame(before: object, after: object): boolean {
  return JSON.stringify(Object.entries(before).sort()) === JSON.stringify(Object.entries(after).sort());
}

/** What was learned of a model in this process. */
export function learnedOf(origin: Pick<ModelOrigin, 'endpoint' | 'modelId'>): Partial<ModelProfile> {
  return learned.get(keyOf(origin)) ?? {};
}

function keyOf({ endpoint, modelId }: Pick<ModelOrigin, 'endpoint' | 'modelId'>): string {
  return `${endpoint.baseUrl}\n${modelId}`;
}
