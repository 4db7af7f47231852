/** Verbs of two words and the single word for each. */
const PHRASES: [RegExp, string][] = [
  [/\b(?:lost|losing|lose) (?:their|his|her) (?:lives|life)\b/gi, 'died'],
  [/\bturn(?:ed|s|ing)? down\b/gi, 'rejected'],
  [/\b(?:turned|turn|turns|switched|switch) on\b/gi, 'enabled on'],
  [/\b(?:gave|give|gives|given|giving) up\b/gi, 'abandoned'],
  [/\bset(?:s|ting)? up\b/gi, 'established'],
  [/\b(?:put|puts|putting) off\b/gi, 'postponed'],
  [/\b(?:bring|brings|brought) in\b/gi, 'introduced'],
  [/\b(?:carry|carries|carried) out\b/gi, 'performed'],
  [/\b(?:call|called|calls) off\b/gi, 'cancelled'],
  [/\b(?:go|goes|went|gone) up\b/gi, 'rise'],
  [/\b(?:go|goes|went|gone|came|come) down\b/gi, 'fall'],
  [/\b(?:break|broke|breaks|broken) out\b/gi, 'began'],
  [/\b(?:find|found|work|worked) out\b/gi, 'discovered'],
  [/\b(?:shut|shuts|closed|closes) down\b/gi, 'closed'],
  [/\b(?:tear|tore|torn|pulled|knocked) down\b/gi, 'demolished'],
  [/\bstep(?:ped|s)? down\b/gi, 'resigned'],
  [/\b(?:hand|handed) over\b/gi, 'gave'],
  [/\b(?:blow|blew|blown) up\b/gi, 'exploded'],
  [/\bturned over\b/gi, 'capsized'],
  [/\b(?:die|died|dies) out\b/gi, 'vanished'],
  [/\bno one\b/gi, 'nobody'],
  [/\b(?:left|leaves|leave) out\b/gi, 'omitted'],
];

/** The text with single words for its phrases, for comparing only. */
export function withoutPhrases(text: string): string {
  return PHRASES.reduce((plain, [phrase, word]) => plain.replace(phrase, word), text);
}
