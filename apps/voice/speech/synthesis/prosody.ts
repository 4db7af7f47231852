/** Words in round brackets that a voice acts out; other words in brackets are text. */
const acted =
  'laugh|laughs|laughing|chuckle|chuckles|chuckling|sigh|sighs|sighing|gasp|gasps|whisper|whispers|whispering|' +
  'shouting|screaming|crying|sobbing|pause|short pause|long pause|break|breath|breathing|clears throat|' +
  'happy|sad|angry|excited|surprised|nervous|calm|serious|sarcastic|soft tone|in a hurry tone|emphasis';

// A link's text in square brackets is followed by an address.
const square = /\[[a-z][a-z ,'-]{1,40}\](?!\()/gi;
const round = new RegExp(String.raw`\((?:${acted})\)`, 'gi');
const angled = /<\/?[a-z][^<>]{0,60}>/gi;

/** Takes out the tags that tell the sidecar how to speak, for voices that would read them aloud. */
export function withoutProsody(text: string): string {
  const bare = text.replace(square, ' ').replace(round, ' ').replace(angled, ' ');
  return bare
    .replace(/\s+/g, ' ')
    .replace(/\s+([,.;:!?])/g, '$1')
    .trim();
}
