import { stem } from '../text/words.ts';

/** Words that may stand for each other in a fair rewording. A word may be in several groups. */
const GROUPS = `
build construct erect assemble|work construction building|power station plant|start begin launch open commence initiate inaugurate|end finish conclude complete|stop halt cease discontinue suspend|close shut
found establish create form set|discover find detect identify uncover|show demonstrate reveal indicate find|rise increase grow climb gain surge expand|fall decline decrease drop shrink sink reduce
reduce cut lower decrease curb|buy purchase acquire takeover|sell vend|make produce manufacture create generate yield|use employ utilize apply rely|need require demand|help aid assist support
large big huge vast major sizeable|small little tiny minor|main chief primary principal key major leading|about approximately roughly nearly almost around|say state report note declare announce tell
study research investigation trial|scientist researcher investigator|work operate function run|damage harm hurt injure|destroy demolish raze wreck|move relocate shift transfer|live reside inhabit dwell
inhabitant resident people population person citizen|kill die death fatality|worker employee staff|firm company business corporation maker manufacturer|car automobile vehicle|ship vessel boat|plane aircraft airplane
child kid|physician doctor|illness disease sickness|drug medicine medication|cost price expense|spend invest|money fund|power electricity energy|supply provide deliver furnish offer give|hold contain include store
contain comprise include consist|cover span extend occupy|reach attain hit|surpass exceed outstrip|allow permit enable let|ban prohibit forbid outlaw|prevent avoid|choose select pick|elect vote|lead head direct run
leader head chief director|fast quick rapid swift|slow gradual|old ancient|new novel modern recent|important significant crucial essential vital|difficult hard|easy simple|name call term dub|design plan draw devise
write author pen compose|publish release issue|invent devise develop|develop create|change alter modify|keep retain maintain preserve|protect guard shield conserve|lose forfeit|win gain earn|receive get obtain
send dispatch ship|arrive come reach|leave depart|return revert|repair fix mend restore|replace substitute|add append|remove eliminate extract|divide split separate|join merge combine unite|link connect join
cause produce trigger lead bring|result outcome effect|happen occur|place site location spot|area region zone|city town|country nation state|government state authority|law act legislation rule|law statute
agreement treaty accord pact|war conflict|army force troop|attack assault|begin start|nearby close adjacent|forest wood woodland|river stream|sea ocean|sea marine|water aquatic|land ground soil|sun solar|moon lunar|wind turbine
year annual yearly|month monthly|day daily|century|half 50|quarter|third|double twofold twice|amount quantity volume|number count figure|share portion part proportion fraction percentage|level rate
average mean|total sum overall|top maximum peak highest|yearly annually|estimate calculate reckon put|measure gauge assess|test examine check trial|view opinion|teach instruct|learn|school|student pupil|house home dwelling
road street highway|bridge crossing span|railway railroad rail train|airport|harbour harbor port|tower|dam barrier|plant factory mill works|farm agriculture|crop harvest|food|eat consume feed|drink|breed reproduce
grow cultivate raise|bird|fish|animal creature|tree|plant vegetation|protein|cell|gene|carbon co2|temperature heat warm|warm heat|cold cool chill|rain rainfall precipitation|storm hurricane cyclone|earthquake quake tremor|eruption erupt explode
fire blaze|flood|emission emit release|pollution pollute contaminate|clean pure|safe secure|danger risk hazard|dangerous hazardous risky|benefit advantage|problem issue difficulty|goal aim target objective|aim intend seek
approve authorize clear endorse accept|reject refuse decline|agree consent|oppose resist object|support back favour favor endorse|criticize criticise fault|praise laud|claim assert argue maintain contend|deny dispute|believe think
expect anticipate forecast predict project plan|plan intend propose|delay postpone defer|speed hasten accelerate|award prize honor honour medal|receive win|language tongue|book work volume|film movie|song|paint painting
king monarch ruler|stretch extend span reach|examine look inspect|give go grant|maker manufacturer producer|exist survive|allow let|specimen animal creature|show present unveil|mandatory compulsory obligatory required|voluntary optional|previous earlier old|revive recover return|resume restart|forecast predict|explosion blast eruption|receive get obtain take|pay receive compensation|pay fund finance|reduce lower|invest sum|stone rock|say mention|recover return|show display exhibit|beat defeat|irrigate water|back return|place put|queen|president|minister|member|visitor tourist traveller|visit tour attend|passenger traveller rider|carry transport convey bear|transport ferry move|travel journey trip migration|launch send|orbit circle|planet world|star|spacecraft probe craft
engine motor|battery accumulator|charge|light lamp|network grid system|software program|computer machine|internet web online|phone telephone|message|user|customer client buyer|market|trade commerce|export ship|import
income revenue earnings turnover sales|profit earnings|debt|tax levy|bank|fee charge|insurance|owner proprietor|own possess have|rent lease|land territory|border frontier|north northern|south southern|east eastern|west western
coast shore coastal|island isle|mountain peak|hill|valley|lake|desert|ice glacier|snow|depth deep|height tall high|tall high|length long|wide width broad|weigh weight mass|speed velocity pace|age old|birth born
wife spouse husband|son|daughter|parent|mother|father|brother|sister|marry wed|friend|team side|player|game match|match meet|score|season|race|competition contest tournament|champion winner|record
employ hire recruit|dismiss fire sack|strike walkout|union|job position post employment|train educate|skill|wage pay salary|hour|week|weekly|once|twice two|first initial|last final|second|several many numerous multiple|various diverse
rare scarce uncommon|common widespread frequent|frequent often|always|never|today now current present|former previous past earlier|future|early|late|permanent lasting|temporary brief|entire whole complete full|partial
treat treatment therapy cure heal|patient|hospital clinic|vaccine jab|infection infect|symptom|surgery operation|brain|heart cardiac|blood|bone|skin|eye|sleep|diet|exercise|weight|smoke tobacco|alcohol
absorb capture soak take|capture trap store|burn combust|melt thaw|freeze|evaporate|boil|dissolve|store hold|flow|fill|fuel|oil petroleum|gas|coal|steel iron|copper|gold|glass|wood timber|stone rock|concrete|plastic|paper|cloth fabric textile
abandon desert quit|ship boat|withdraw recall retreat|ratify sign|abolish scrap end|introduce adopt bring|lift remove|raise lift increase|impose place|resign quit step|appoint name nominate|arrest detain|jail imprison prison|sentence|court tribunal|judge|crime offence offense|police officer
rescue save|survive|escape flee|hide conceal|search seek look|explore|map chart|observe watch monitor see|record log register|count tally|compare|differ vary|match equal|follow|precede|surround encircle|cross traverse|climb ascend scale|dig excavate|bury|drill bore|sail|fly
admit concede acknowledge confess|approve pass adopt|rule decide hold judge find|rule decision judgment ruling verdict|side favour back|disagree dissent differ|reject defeat refuse decline|turn switch|lose defeat loss|beat win defeat victory|top lead first|enrol enroll include recruit involve cover have|take capture fall seize|capsize overturn|convict guilty
electrify electric switch convert|vehicle bus car lorry truck|instead rather place|study compare examine investigate analyse survey look review|raise increase up|free pay|picture photograph photography photo image|licence license unlicensed|cover area size hectare|pain symptom|cause make produce|cause because due result|need require must|infertile infertility|collapse fall|stand last
last take run continue|generally usually typically|active ready|influence matter affect effect impact|share market|low reduce fall decrease|few reduce low|work employ serve|extend lengthen stretch|service train line|order buy commission request|exclude omit leave|decide rule settle|unanimous unanimously|sink wreck|disappear vanish extinct die lost loss|contribute part role|expensive cost price dear|return come
explain attribute account blame|lack absence want shortage|able can keep|write bear text inscribe|contain hold|find work discover|minimum least|maximum most|available have|able capable|meet gather|bonus gift give|receive give get|stay remain|always never|worth value cost|mean signify indicate|wash clean take|announce declare unveil reveal|resign quit leave step|appoint name choose hire|succeed replace follow take|predecessor succeed|succeed successor
buy acquisition purchase takeover|merge merger|sue lawsuit court|fine penalty punish|pay spend cost|hire recruit employ|sack fire dismiss|lay redundancy cut|join enter|sign agree|author writer write novelist|compose composer|direct director film|star play appear act|sing singer song|paint painter|sculpt sculptor|architect design|engineer design build|found founder|invent inventor|discover discoverer|own owner|produce producer production|govern rule govern|president head
kill murder shoot|die perish|bury grave tomb|born birth native|marry wife husband spouse|move migrate relocate|settle live|flee escape leave|arrest detain seize|imprison jail|free release liberate|win triumph victory|victory defeat win|draw tie|champion title|lead ahead|finish end complete|host hold stage|attend visit|score goal net|coach manager train|injure hurt wound|sick ill disease|infect catch contract|treat therapy|heal recover cure|surgery operate|dose amount
trial test experiment study|participant subject volunteer patient people adult|placebo dummy|random randomise|risk chance likelihood likely probability|link associate tie connect correlate relate association|significant marked|severe serious grave heavy|mild slight light|frequent common often|symptom sign|adverse side|deadly fatal lethal|young youth adolescent teenager|adult grown|old elderly aged senior|infant baby|pupil student|woman female girl|man male boy
expand widen enlarge broaden|narrow shrink|shorten cut reduce|halve half|double twice|triple three|quadruple four|most majority mainly mostly largely|many numerous lots several|few handful|almost nearly virtually|over more above exceed|under less below|least minimum|roughly approximately about around some circa|exact precise|entire whole all full|each every per|annual year yearly|weekly week|daily day|hourly hour
permit allow licence|forbid ban prohibit bar|oblige require must compel force|entitle right allow|exempt free excuse|apply use|expire end lapse|renew extend|valid force|void invalid|repeal abolish scrap revoke|amend change revise|enact pass adopt|draft write|vote ballot poll election|majority most|parliament assembly legislature|minister secretary|mayor leader|council authority|court judge justice|appeal challenge|plaintiff claimant|defendant accused|tenant renter|landlord owner
display show exhibit|museum gallery|exhibition show display|oldest earliest|begin originate start date|date old|remain survive left exist|ruin remains|excavate dig unearth|temple shrine|fortress castle fort citadel|siege besiege|surrender capitulate yield|withdraw retreat leave|invade attack occupy|conquer take capture|defend protect|troops soldier army men force|ally partner|battle fight combat|fleet navy ship|cannon gun|general commander|command lead|crown king throne|empire kingdom
default standard preset|enable on activate switch turn|disable off deactivate|delete remove erase|save store keep|folder directory|file document|setting option parameter|version release|upgrade update|compress shrink|encrypt encryption|password passphrase|support compatible|require need|retry try again attempt|crash fail|error fault bug|limit maximum cap|speed fast rate|memory ram|disk drive storage|request query call|respond answer reply|return give|throw raise|deprecate obsolete
mammal animal|insect bug|feed eat diet|prey hunt|predator hunter|nest breed|lay egg|hatch|swim|habitat home range live|endangered threatened|extinct disappear|species kind type|weigh heavy weight|measure long|grow reach|spread expand extend|native indigenous|introduce bring put|eruption volcano|lava|summit peak top|glacier ice|flood inundate|drought dry|harvest crop yield|plough farm|soil earth|flour grain|bread loaf|bake cook|recipe
shipment ship deliver export|shipping transport|traveller passenger|fare ticket price|ticket admission entry|entry admission enter|route line service|depart leave|arrive reach|delay late|schedule timetable|cancel scrap drop axe|postpone delay put|opening launch inauguration|demolish tear raze knock|rebuild reconstruct|renovate restore refurbish|storey floor level|deck|bridge span|dome|facade|site place location
`;

const groupsByStem = new Map<string, Set<number>>();
for (const [index, group] of GROUPS.trim().split(/[|\n]/).entries()) {
  for (const word of group.trim().split(/\s+/)) {
    const key = stem(word);
    const known = groupsByStem.get(key) ?? new Set<number>();
    groupsByStem.set(key, known.add(index));
  }
}

/** Whether one stem may stand for the other. */
export function areSynonyms(left: string, right: string): boolean {
  if (left === right) return true;
  if (oppositeOf.get(left)?.has(right)) return false;
  const groups = groupsByStem.get(left);
  const others = groupsByStem.get(right);
  if (groups === undefined || others === undefined) return shareRoot(left, right);
  for (const group of groups) if (others.has(group)) return true;
  return shareRoot(left, right);
}

/** Long words that begin alike are forms of one word: "astronom-y", "astronom-er". */
function shareRoot(left: string, right: string): boolean {
  const shorter = Math.min(left.length, right.length);
  if (shorter < 5) return false;
  const common = Math.max(5, Math.ceil(Math.max(left.length, right.length) * 0.7));
  return shorter >= common && left.slice(0, common) === right.slice(0, common);
}

/** Pairs that exclude each other. */
const OPPOSITES = `increase decrease|increase reduce|increase fall|increase decline|increase drop|rise fall|rise decline|rise drop|rise shrink|grow shrink|grow fall|grow decline|gain loss|gain lose|expand shrink|raise lower|raise cut|improve worsen|accelerate slow
few most|few many|few all|little much|minority most|speed slow|exempt tax|road rail|road railway|passenger goods|passenger freight|ahead behind|agree refuse|agree reject|resume end|introduce end|more less|more fewer|most least|high low|large small|big small|long short|deep shallow|wide narrow|strong weak|fast slow|early late|old new|old young|hot cold|warm cold|warm cool|wet dry|heavy light|rich poor|cheap expensive|safe dangerous|safe unsafe
before after|above below|over under|first last|start end|start finish|begin end|open close|arrive leave|enter leave|import export|buy sell|lend borrow|win lose|succeed fail|success failure|support oppose|support reject|approve reject|accept reject|accept refuse|allow ban|allow prohibit|allow forbid|permit ban|permit prohibit|legal illegal
north south|northern southern|east west|eastern western|left right|inside outside|upper lower|male female|man woman|father mother|son daughter|brother sister|husband wife|king queen|public private|urban rural|domestic foreign|positive negative|true false|possible impossible|likely unlikely|common rare|always never|all none|presence absence
build demolish|build destroy|create destroy|add remove|attach detach|appear disappear|agree disagree|confirm deny|confirm refute|prove disprove|prevent cause|help harm|beneficial harmful|effective ineffective|maximum minimum|majority minority|summer winter|spring autumn|day night|morning evening|sunrise sunset|solar lunar|alive dead|survive die|hire dismiss|appoint dismiss|attack defend|advance retreat|absorb emit|absorb release|melt freeze|active inactive|active dormant|extinct alive|permanent temporary|complete partial|include exclude|tighten loosen|strengthen weaken|same different|similar different|better worse|good bad|best worst|profit loss|surplus deficit|winner loser|ally enemy|host guest|teacher student|native introduced|voluntary mandatory|optional mandatory|optional compulsory|compulsory voluntary|free paid|single multiple|visible invisible|acid alkaline|clockwise anticlockwise|vertical horizontal|ascend descend|lengthen shorten|encourage discourage|toxic harmless|abolish introduce|repeal introduce|lift impose|exempt subject|surface underground|shallow deep|oldest newest|oldest youngest|major minor|outward inward|forward backward|carnivore herbivore|nocturnal diurnal
blame praise|win defeat|victory defeat|begin over|start over|lose win|twice half|double half|double halve|same opposite|closed open|shut open|ally rival|natural artificial|guilty innocent|convict acquit|condemn praise|criticise praise|love hate|remember forget|hire fire|recruit dismiss|grant refuse|grant deny|issue revoke|gain reduce|overestimate underestimate|exceed below|above below|quiet loud|quick slow|lengthen cut|extend shorten|widen narrow|broaden narrow|simple complex|easy difficult|easy hard|soft hard|thin thick|full empty|empty occupied|clean dirty|sweet bitter|sharp blunt|bright dark|light dark|near far|near distant|present absent|ancient modern|earliest latest|early late|senior junior|plaintiff defendant|tenant landlord|buyer seller|employer employee|supplier customer|lender borrower|creditor debtor|creator destroyer|attract repel|push pull|float sink|swim crawl|inhale exhale|evaporate condense|heat cool|warm chill|boil freeze|stable unstable|enable disable|activate deactivate|upload download|encrypt decrypt|compress expand|client server|internal external|inner outer|interior exterior|ascending descending|minimum maximum|cheap dear|cheap expensive|ordinary unusual|abundant scarce|plentiful scarce|fertile barren|healthy sick|acute chronic|benign malignant|boost cut|boost reduce|boost lower|raise reduce|lift lower|hike cut|surge plunge|soar plunge|climb fall|climb drop|climb slip|rise slip|grow slip|recover worsen|improve deteriorate|optimistic pessimistic|bullish bearish|profit loss|asset liability|credit debit|income expense|freeze thaw|found dissolve|establish abolish|create abolish|enact repeal|adopt reject|pass reject|approve veto|uphold overturn|confirm overturn|liberate occupy|unite divide|merge split|integrate segregate|war peace|victor loser|offensive defensive|retain lose|keep abandon|continue stop|continue cease|stay leave|remain leave|join leave|arrive depart|appear vanish|reveal hide|expose conceal|fill empty|accelerate brake|contract expand|mandatory voluntary|required optional|peaceful violent|famous unknown|upstream downstream|indoor outdoor|odd even|fresh salt|fresh salty|human machine|left remain|southward northward|shorter longer|shrink expand|cut raise|cut increase|fail pass|failure success|tall short|shut left|drain fill|save spend|save smash|save destroy|preserve destroy|lend repay|delete keep|remove keep|discard keep|weaken increase|include omit`;

const oppositeOf = new Map<string, Set<string>>();
for (const pair of OPPOSITES.split(/[|\n]/)) {
  const [left = '', right = ''] = pair.split(' ').map(stem);
  oppositeOf.set(left, (oppositeOf.get(left) ?? new Set()).add(right));
  oppositeOf.set(right, (oppositeOf.get(right) ?? new Set()).add(left));
}

/** Whether the stems exclude each other. */
export function areOpposites(left: string, right: string): boolean {
  return (oppositeOf.get(left)?.has(right) ?? false) || isDenied(left, right) || isDenied(right, left);
}

const DENIAL = /^(?:un|dis|non|in|im|ir|il)(?=.{4})/;
const NO_DENIAL =
  /^(?:discover|display|uncover|inform|impress|install|under|until|unit|invest|intend|island|imprison|increas|includ|insid|indoor)/;

/** "Unlawful" and "lawful". */
function isDenied(word: string, plain: string): boolean {
  return (
    plain.length >= 4 &&
    !NO_DENIAL.test(word) &&
    DENIAL.test(word) &&
    (word.replace(DENIAL, '') === plain || stem(word.replace(DENIAL, '')) === plain)
  );
}
