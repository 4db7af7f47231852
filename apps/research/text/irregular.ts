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
export const irregularStems: ReadonlyMap<string, string> = new Map(
  FORMS.split(/\s+/).map((entry) => {
    const [form = '', base = ''] = entry.split(':');
    return [form, base];
  }),
);
