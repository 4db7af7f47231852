import type { Missing } from '@trunkline/service';
import { mediawiki } from './mediawiki.ts';
import { factbook, wordnet } from './offline.ts';
import type { Source } from './search-aggregator.ts';
import type { SourceDefinition, SourceDeps } from './source.ts';
import { files, pages } from './stored.ts';
import { brave, keyless, searxng, tavily } from './web.ts';

/** Every source there is. A new one is a file beside this one and a line here. */
export const sourceDefinitions = [
  searxng,
  brave,
  tavily,
  keyless,
  pages,
  mediawiki,
  files,
  factbook,
  wordnet,
] as const;

type Intersection<Union> = (Union extends unknown ? (given: Union) => void : never) extends (
  given: infer All,
) => void
  ? All
  : never;

/** The options of all sources. */
export const sourceOptions = Object.assign(
  {},
  ...sourceDefinitions.map(({ options }) => options),
) as Intersection<(typeof sourceDefinitions)[number]['options']>;

type OptionValues = Readonly<Record<string, unknown>>;

/** The configured sources; fallbacks only where their kind has no other. */
export function createSources(
  definitions: readonly SourceDefinition[],
  options: OptionValues,
  deps: SourceDeps,
): Source[] {
  const configured = definitions.flatMap((definition): Source[] => {
    const client = definition.create(options, deps);
    return client === undefined ? [] : [{ definition, client }];
  });
  return configured.filter(
    ({ definition }) => definition.isFallback !== true || !isServed(definition, configured),
  );
}

/** Whether a source of this kind is configured that is no fallback. */
function isServed({ kind }: SourceDefinition, configured: readonly Source[]): boolean {
  return configured.some(({ definition }) => definition.kind === kind && definition.isFallback !== true);
}

/** What to set up for the kinds that no source serves. */
export function missingSources(
  definitions: readonly SourceDefinition[],
  configured: readonly Source[],
): Missing[] {
  return definitions
    .filter((definition) => !isServed(definition, configured))
    .flatMap(({ missing }) => missing ?? []);
}
