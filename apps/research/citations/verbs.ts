import { stem } from '../text/words.ts';
import type { Token } from './tokens.ts';

const AUXILIARIES = new Set(
  "is are was were be been being am has have had do does did will would can could may might must shall should cannot isn't aren't wasn't weren't hasn't haven't hadn't don't doesn't didn't won't can't couldn't wouldn't".split(
    ' ',
  ),
);

/** Verbs that sentences of fact are made of; words that are mostly nouns count only where a verb can stand. */
const VERB_WORDS = new Set(
  `abandon abolish absorb accept accuse achieve acquire act add admit adopt advise affect agree aim allow announce appear apply appoint approve argue arrest arrive ask assume attack attend attract attribute avoid award ban bear beat become begin believe belong bind blame bleach block boost borrow break bring broadcast build burn buy call
  campaign cancel capture carry catch cause change charge choose claim clean clear climb close collapse collect come compare compete complain complete compose concede conclude confirm conquer connect consider consist consume contain continue contract contribute control convert convict cost count cover crash create criticise cross cut damage date deal decide declare decline decrease defeat defend
  delay deliver demand deny depend describe design destroy detect determine develop devise die differ direct disappear discover dismiss dissent divide donate double draw drink drive drop earn eat edit elect eliminate emerge emit employ enable end enjoy enter erupt escape establish estimate exceed exclude exist expand expect explain explode explore export extend face fail fall favour feature feed fell fetch fight fill film find fine finish fit fix float flow
  fly follow forbid force forecast forge form found freeze fund gain generate get give go govern grant grow guide halt handle happen harm hatch have head hear heat help hire hit hold host house import impose improve include increase indicate infect inherit injure inspire install introduce invent invest investigate invite involve issue join judge keep kill know lack land last launch lay lead learn leave lend let lie lift limit link list live lose lower maintain make manage mark marry match
  mean measure meet melt mention merge migrate mine miss move name need nest note obtain occupy occur offer omit open operate oppose order organise overestimate overtake own paint pass pay peak perform permit persuade place plan plant play plead point praise predict prefer prevent print proceed produce prohibit project promise promote propose protect prove provide publish pump punish purchase push put quit raise range rank reach read rebuild recall receive recognise recommend record recover reduce refer refuse regard register reject release rely remain remember remove rename renew rent repair repeal replace report represent require rescue
  resemble reside resign resist respond rest restore restrict result resume retain retire return reveal review revive ride rise row rule run sail save say scan score scrap search secure see seek seize sell send separate serve set settle share ship show shrink shut sign sink sit slip slow smoke solve speak spend split spread stand start state stay steal stem step stop store stretch strike study sue suffer suggest supply support suppose surpass surrender surround survey survive suspect suspend swallow swap swim switch take teach tear tell tend test think threaten tie told total train translate transfer travel treat trigger try turn twist underestimate understand use value vanish vary
  visit vote wait walk want warn wash watch weaken wear weigh win wish withdraw wonder work worsen write yield outnumber overrule overturn uphold ratify reopen relocate stipulate enrol enroll recruit randomise sponsor co-found clock log post top account amount attain climbed exempt spare qualify entitle oblige compel bar
  used brought caught taught thought sought bore wore swore rang sang swam drank began fought dealt dug fed fled hung knelt lit rode shook shone slid spun stole struck swung threw woke wound withdrew overtook underwent undertook hid burst shot slept smelt spoke sprang stuck swept tore bound bred clung crept forgave froze laid lent meant mistook rose sank shrank sewn shown spelt spilt spoilt stung strove upheld wept`.split(
    /\s+/,
  ),
);
const VERBS = new Set([...VERB_WORDS].map(stem));

const NO_VERB_AFTER = new Set(
  'a an the its his her their our this that these those no each every some any of in for by with from at on per into between as more most less very than first second third own new old'.split(
    ' ',
  ),
);

/** Whether a finite verb, or the helper of one, stands at this place. */
export function isVerb(tokens: readonly Token[], at: number): boolean {
  const token = tokens[at];
  if (token?.kind !== 'word' || (token.capital && !token.first)) return false;
  if (AUXILIARIES.has(token.lower)) return true;
  const before = tokens[at - 1];
  if (before !== undefined && (NO_VERB_AFTER.has(before.lower) || before.lower.endsWith("'s"))) return false;
  if (before?.lower === 'to' || token.lower.endsWith('ing')) return false;
  if (/(?:tion|ment|ness|ity)s?$/.test(token.lower)) return false;
  if (/[eo]rs?$/.test(token.lower) && !VERB_WORDS.has(token.lower.replace(/s$/, ''))) return false;
  return VERBS.has(token.stem) || (token.lower.length > 4 && token.lower.endsWith('ed'));
}

/** The place of the main verb: a noun that could be a verb gives way to a past form or helper right behind it. */
export function verbPlace(tokens: readonly Token[]): number {
  const first = tokens.findIndex((_, at) => isVerb(tokens, at));
  const verb = tokens[first];
  if (verb === undefined || isCertain(verb)) return first;
  const next = tokens.findIndex(
    (token, at) => at > first && at <= first + 5 && isVerb(tokens, at) && isCertain(token),
  );
  const between = tokens.slice(first + 1, next);
  return next === -1 || between.some(({ kind }) => kind === 'number') ? first : next;
}

function isCertain(token: Token): boolean {
  return AUXILIARIES.has(token.lower) || token.lower.endsWith('ed') || isIrregular(token);
}

export function isAuxiliary({ lower }: Token): boolean {
  return AUXILIARIES.has(lower);
}

const FORMS_OF_BE = new Set(['is', 'are', 'was', 'were', 'be', 'been', 'being']);

/** "was built", "has been sold": a form of "be" and a participle behind it. */
export function isPassiveGroup(tokens: readonly Token[]): boolean {
  const at = tokens.findIndex(({ lower }) => FORMS_OF_BE.has(lower));
  if (at === -1) return false;
  return tokens
    .slice(at + 1, at + 4)
    .some(
      (token) =>
        token.content && (token.lower.endsWith('ed') || (VERBS.has(token.stem) && isIrregular(token))),
    );
}

/** "Built", "taken": neither the plain form nor one in -ing or -s. */
function isIrregular({ lower, stem: root }: Token): boolean {
  if (lower === `${root}n` || lower === `${root}en`) return true;
  return lower !== root && !/(?:ing|s)$/.test(lower) && !root.startsWith(lower) && !lower.startsWith(root);
}
