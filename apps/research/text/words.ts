import { lazy } from '@trunkline/std';

/** Forms that endings do not explain, as `form:base`. */
const FORMS = `shrank:shrink shrunk:shrink rose:rise risen:rise hung:hang heard:hear meant:mean slept:sleep felt:feel lent:lend bent:bend sought:seek fought:fight shot:shoot slid:slide stuck:stick swept:sweep tore:tear wound:wind woke:wake forgot:forget hidden:hide ridden:ride rode:ride shook:shake threw:throw thrown:throw fell:fall fallen:fall grew:grow grown:grow growth:grow built:build began:begin begun:begin wrote:writ written:writ writer:writ
won:win lost:los loss:los losses:los made:mak maker:mak found:find led:lead held:hold sold:sel sale:sel sales:sel seller:sel bought:buy became:becom ran:run took:tak taken:tak gave:giv given:giv
went:go gone:go goes:go came:com said:say told:tel met:meet sent:send spent:spend left:leav kept:keep paid:pay shown:show seen:see saw:see known:know knew:know broke:break broken:break
chose:choos chosen:choos choice:choos drove:driv driven:driv laid:lay people:person persons:person men:man women:woman children:child lives:lif life:lif died:die deaths:die death:die
dead:die dying:die higher:high highest:high height:high heights:high lower:low lowest:low larger:larg largest:larg smaller:small smallest:small longer:long longest:long length:long oldest:old older:old
fewer:few fewest:few least:less better:good best:good worse:bad worst:bad analysis:analys analyses:analys species:species series:series flew:fly flown:fly flight:fly sank:sink sunk:sink drew:draw
drawn:draw ate:eat eaten:eat thought:think taught:teach caught:catch bred:breed fed:feed froze:freez frozen:freez stood:stand struck:strik swam:swim wore:wear withdrew:withdraw
withdrawn:withdraw withdrawal:withdraw arrival:arriv approval:approv approve:approv refusal:refus deeper:deep deepest:deep depth:deep wider:wid widest:wid width:wid strength:strong stronger:strong
reduction:reduc reduce:reduc decision:decid explosion:explod expansion:expand invasion:invad production:produc consumption:consum reception:receiv discovery:discover discoveries:discover
destruction:destroy construction:construct belief:believ believe:believ proof:prov proven:prov prove:prov weight:weigh speech:speak spoke:speak spoken:speak sung:sing sang:sing tides:tid tidal:tid
hotter:hot hottest:hot warmer:warm warmest:warm colder:cold coldest:cold bigger:big biggest:big earlier:early earliest:early later:lat latest:lat late:lat europe:europ european:europ france:french germany:german
italy:italian spain:spanish norway:norwegian sweden:swedish denmark:danish britain:british china:chinese japan:japanese russia:russian america:american`;

/** The base of words whose forms endings do not explain; it is stemmed like any word. */
const irregularStems: ReadonlyMap<string, string> = new Map(
  FORMS.split(/\s+/).map((entry) => {
    const [form = '', base = ''] = entry.split(':');
    return [form, base];
  }),
);

const STOP_WORDS = new Set(
  `a an the and or but nor so yet if then else than that this these those there here it its he she they them his her their our your my we you i me us him who whom whose which what when
  where why how is are was were be been being am do does did done doing has have had having will would shall should can could may might must of in on at by for with about against
  between into through during before after above below to from up down out off over under again further once as too very just also only own same such both each few more most other some
  any all no not however therefore thus while because since until although though whether per via upon within without among across along around behind beyond like near toward towards
  according`.split(/\s+/),
);

/** A word or a number in a text. */
export const WORD = /\p{Nd}[\p{Nd}.,]*\p{Nd}|\p{Nd}|\p{L}[\p{L}\p{M}\p{N}]*(?:'\p{L}+)?/gu;

/** Scripts that put no space between words. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const RUN = new RegExp(`${UNSPACED.source}+`, 'gu');
const segmenter = lazy(() => new Intl.Segmenter('en', { granularity: 'word' }));

export function isUnspaced(text: string): boolean {
  return UNSPACED.test(text);
}

/** The text with a space between any two words of a script that has none. */
export function spaced(text: string): string {
  if (!isUnspaced(text)) return text;
  return text.replace(
    RUN,
    (run) => ` ${Array.from(segmenter().segment(run), ({ segment }) => segment).join(' ')} `,
  );
}

/** Words in lower case; a number keeps its dots and commas, a word its inner apostrophes and hyphens. */
export function tokenize(text: string): string[] {
  return spaced(text).toLowerCase().replace(/[’‘]/g, "'").match(WORD) ?? [];
}

export function isStopWord(word: string): boolean {
  return STOP_WORDS.has(word);
}

/** The stems of the words that carry meaning. */
export function contentStems(text: string): string[] {
  return tokenize(text)
    .filter(
      (word) => !STOP_WORDS.has(word) && !/^\p{Nd}/u.test(word) && (word.length > 1 || isUnspaced(word)),
    )
    .map(stem);
}

const ENDINGS: [RegExp, string][] = [
  [/'s?$/, ''],
  [/(?:ies|ied)$/, 'y'],
  [/(ss|sh|ch|x|z)es$/, '$1'],
  [/([^aeiousy])s$/, '$1'],
  [/([aeio])s$/, '$1'],
  [/ys$/, 'y'],
  [/(?:ational|ation|ations|ator|ators)$/, 'at'],
  [/(.{3})(?:ization|isation|izing|ising|ized|ised|ize|ise)$/, '$1iz'],
  [/(?:ments?|nesses|ness)$/, ''],
  [/(?:ically|ical)$/, 'ic'],
  [/(?:ingly|edly)$/, ''],
  [/(.{3})ing$/, '$1'],
  [/(.{3})ed$/, '$1'],
  [/(.{3})ly$/, '$1'],
  [/(.{3})e$/, '$1'],
  [/(.{4})(?:ion|iv|abl|ibl|al|er|or|ity)$/, '$1'],
  [/([^aeiou])\1$/, '$1'],
];

/** Long texts say the same words over and over. Longer words are not kept: they would hold the whole text they were cut from. */
const known = new Map<string, string>();
const MOST_KNOWN = 50_000;
const LONGEST_KNOWN = 12;

/** A rough stem, so that "rises", "rising" and "rise" meet. Used on both sides of a comparison. */
export function stem(word: string): string {
  const before = known.get(word);
  if (before !== undefined) return before;
  const found = stemOf(word);
  if (word.length > LONGEST_KNOWN) return found;
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(word, found);
  return found;
}

function stemOf(word: string): string {
  const base = irregularStems.get(word) ?? irregularStems.get(word.replace(/s$/, '')) ?? word;
  if (base.length < 4) return base;
  return ENDINGS.reduce((text, [ending, instead]) => {
    const shorter = text.replace(ending, instead);
    return shorter.length >= 3 ? shorter : text;
  }, base);
}
