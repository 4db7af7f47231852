const SNIFFED_BYTES = 4096;

/**
 * The text of bytes: by their byte order mark, the header, what the page or XML file itself declares, the zero bytes of
 * UTF-16, as UTF-8, or by what fits best of the encodings that were common before it.
 */
export function decode(bytes: Uint8Array, header?: string): string {
  const given = markedCharset(bytes) ?? known(header) ?? sixteenBits(bytes);
  const declared = given === undefined ? known(declaredCharset(bytes)) : undefined;
  // A text may speak of other charsets. What stands in ISO-2022-JP is plain ASCII to look at.
  if (declared !== undefined && declared !== 'iso-2022-jp') {
    const text = decodeUtf8(bytes);
    if (text !== undefined) return text;
  }
  const label = given ?? declared ?? 'utf-8';
  // Pages often declare another charset than they have; UTF-8 that decodes without a fault is UTF-8.
  if (/^utf-?8$/i.test(label) || label === 'windows-1252') return decodeUtf8(bytes) ?? guessed(bytes, label);
  return decoder(label).decode(bytes);
}

function decoder(label: string): TextDecoder {
  return new TextDecoder(label);
}

function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** Bytes that are no UTF-8: mostly it with a fault or cut, else the candidate with the fewest faults and odd characters. */
function guessed(bytes: Uint8Array, label: string): string {
  const opening = bytes.subarray(0, 65_536);
  const asUtf8 = new TextDecoder().decode(opening);
  const faults = asUtf8.split('\ufffd').length - 1;
  const letters = asUtf8.match(/[^\0-\x7f\ufffd]/g)?.length ?? 0;
  if (faults * 4 < letters) return new TextDecoder().decode(bytes);
  if (label === 'windows-1252') return decoder(label).decode(bytes);
  const candidates = ['shift_jis', 'gb18030', 'euc-kr', 'big5', 'euc-jp', 'windows-1252'];
  const [best = 'windows-1252'] = candidates
    .map((name) => ({ name, oddity: oddityOf(opening, name) }))
    .sort((left, right) => left.oddity - right.oddity)
    .map(({ name }) => name);
  return decoder(best).decode(bytes);
}

/**
 * How little a text looks like what people write in the languages of an encoding, per character beyond ASCII. Half-width
 * kana, private use and rare ideographs are what wrong guesses give.
 */
function oddityOf(bytes: Uint8Array, label: string): number {
  const text = decoder(label).decode(bytes);
  const beyond = text.match(/[^\0-\x7f]/gu) ?? [];
  if (beyond.length === 0) return 0;
  if (label === 'windows-1252') return latinOddity(text, beyond);
  const odd = text.match(/[\ufffd\ue000-\uf8ff\uff61-\uff9f\u0080-\u024f\u{20000}-\u{2ffff}]/gu)?.length ?? 0;
  const expected =
    label === 'euc-kr'
      ? /[\uac00-\ud7af\u3001\u3002]/g
      : /[\u3040-\u30ff\u4e00-\u9fff\u3000-\u303f\uff00-\uff5e]/g;
  const fitting = text.match(expected)?.length ?? 0;
  const frequent = text.match(FREQUENT[label] ?? /$^/g)?.length ?? 0;
  return (
    (odd * 4 + beyond.length - fitting) / beyond.length + 0.5 - Math.min(0.5, (frequent * 4) / beyond.length)
  );
}

/** Characters that stand in nearly every sentence, by which encodings with the same byte ranges differ. */
const FREQUENT: Record<string, RegExp> = {
  shift_jis: /[のにはをたがでてとしれさ]/g,
  'euc-jp': /[のにはをたがでてとしれさ]/g,
  gb18030: /[的一是不了在有人这中大为上个国我以要他时来用们]/g,
  big5: /[的一是不了在有人這中大為上個國我以要他時來用們]/g,
  'euc-kr': /[이다는을의에가를은고하로한]/g,
};

/** In Latin text a letter with an accent mostly stands between plain letters; runs of them are another encoding. */
function latinOddity(text: string, beyond: readonly string[]): number {
  const runs = text.match(/[\u0080-\u024f]{2,}/g)?.join('').length ?? 0;
  const controls = text.match(/[\u0080-\u009f]/g)?.length ?? 0;
  return 0.3 + (runs + controls * 4) / beyond.length;
}

function markedCharset([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8';
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : undefined;
}

/** UTF-16 without a mark: in markup and most texts every other byte is zero. */
function sixteenBits(bytes: Uint8Array): string | undefined {
  const opening = bytes.subarray(0, SNIFFED_BYTES);
  const zeros = [0, 0];
  for (let at = 0; at < opening.length; at += 1)
    if (opening[at] === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1;
  const [even = 0, odd = 0] = zeros;
  const enough = opening.length / 8;
  if (odd > enough && even < enough / 4) return 'utf-16le';
  return even > enough && odd < enough / 4 ? 'utf-16be' : undefined;
}

function declaredCharset(bytes: Uint8Array): string | undefined {
  const opening = Buffer.from(bytes.subarray(0, SNIFFED_BYTES)).toString('latin1');
  const declared =
    /<meta[^>]*charset\s*=\s*["']?([\w.:-]+)/i.exec(opening)?.[1] ??
    /^\s*<\?xml[^>]*encoding\s*=\s*["']([\w.:-]+)/i.exec(opening)?.[1];
  // A page whose declaration could be read as single bytes is not in UTF-16, whatever it says.
  return declared !== undefined && /^utf-?16/i.test(declared) ? 'utf-8' : declared;
}

function known(label: string | undefined): string | undefined {
  if (label === undefined) return undefined;
  try {
    return new TextDecoder(label.trim()).encoding;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
