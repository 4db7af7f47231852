/** Words that deny, of many languages: they count only where two texts are nearly the same, so that a word that means something else in another language does no harm. */
const NEGATION =
  /(?<![\p{L}])(?:not|no|never|none|nobody|nothing|neither|nor|cannot|without|nicht|kein(?:e[mnrs]?)?|nie|niemals|nichts|niemand|ohne|ne|pas|jamais|aucune?|rien|sans|non|nunca|jamás|nada|nadie|ningun[oa]?|ningún|sin|nem|não|nenhum[a]?|mai|nessun[oa]?|senza|niente|niet|geen|nooit|zonder|inte|ikke|ikkje|aldrig|aldri|ingen|nie|nigdy|żaden|bez|не|нет|никогда|ни|без|нема|δεν|μη|μην|değil|yok|hiç|ei|eivät|لا|لم|لن|ليس|ليست|ما|غير|לא|אין|नहीं|không|tidak|bukan)(?![\p{L}])|n['’]t(?!\p{L})|(?<!\p{L})n['’](?=\p{L})|没有|沒有|[不没沒未無无非]|ない|なかった|ません|ず(?=、|。|に)|ไม่|않|없|못/giu;

export function denies(text: string): boolean {
  return text.search(NEGATION) >= 0;
}

export function withoutNegation(text: string): string {
  return text.replace(NEGATION, ' ');
}
