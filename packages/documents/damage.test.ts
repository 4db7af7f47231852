// Documents that are broken, cut off, protected or something else: what the person who gave them is told.
import { docxOf, epubOf, zipOf } from '@trunkline/testing';
import { describe, expect, it } from 'vitest';
import { documentTypes, extract } from './read.ts';

const COMPOUND = Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(504)]);
const utf16 = (text: string) => Buffer.from(text, 'utf16le');
const CONTENT = '<?xml version="1.0"?><office:document-content><office:body/></office:document-content>';

const wordsOn = (name: string, bytes: Uint8Array) =>
  extract({
    bytes: new Uint8Array(bytes),
    type: documentTypes.get(name.split('.').at(-1) ?? '') ?? '',
    name,
  }).then(
    ({ text }) => `read: ${text}`,
    (error: Error) => error.message,
  );

const docx = (main: string | Uint8Array) => docxOf('', { more: { 'word/document.xml': main } });
const odt = (content: string | Uint8Array, more: Record<string, string> = {}) =>
  zipOf({ mimetype: 'application/vnd.oasis.opendocument.text', 'content.xml': content, ...more });

/** As the flag of an encrypted entry says it. */
function withPassword(zip: Uint8Array): Uint8Array {
  const file = Buffer.from(zip);
  for (let at = file.indexOf('PK\x01\x02'); at !== -1; at = file.indexOf('PK\x01\x02', at + 4))
    file.writeUInt8(file.readUInt8(at + 8) | 1, at + 8);
  return file;
}

describe('a document that cannot be read', () => {
  it.each([
    ['an empty part', 'a.docx', docx(''), 'is damaged: its part word/document.xml is empty. Get it again'],
    ['a part of nothing', 'a.docx', docx('\0\x01garbage<<<'), 'word/document.xml holds something else'],
    ['half a part', 'a.odt', odt(CONTENT.slice(0, 60)), 'its part content.xml ends in the middle'],
    ['a page that asks to sign in', 'a.odt', odt('<html><body>Sign in</body></html>'), 'holds a web page'],
    [
      'a part too deep',
      'a.odt',
      odt(`${'<a>'.repeat(300_000)}${'</a>'.repeat(300_000)}`),
      'deep in each other',
    ],
    ['tags without an end', 'a.odt', odt('<a'.repeat(1_000_000)), 'its part content.xml ends in the middle'],
    ['beginnings alone', 'a.odt', odt(`<a>${'<'.repeat(3_000_000)}</a>`), 'deep in each other'],
    ['a very long name', 'a.odt', odt(`<${'a'.repeat(3_000_000)}></a>`), 'ends in the middle'],
    ['no main part', 'a.epub', zipOf({ mimetype: 'application/epub+zip' }), 'no part META-INF/container.xml'],
    [
      'half of it',
      'a.docx',
      docxOf('Words').subarray(0, 100),
      'is cut off: its end is missing. Get it again',
    ],
    ['nothing', 'a.xlsx', new Uint8Array(), 'is empty'],
    ['text', 'a.xlsx', Buffer.from('Just words'), 'is no Excel workbook that can be read. Open it'],
    ['a password of Office', 'a.docx', Buffer.concat([COMPOUND, utf16('EncryptedPackage')]), 'a password'],
    ['a password of the archive', 'a.docx', withPassword(docxOf('Words')), 'is protected with a password'],
    [
      'a password of OpenDocument',
      'a.odt',
      odt('????', { 'META-INF/manifest.xml': '<manifest:encryption-data/>' }),
      'is protected with a password',
    ],
    ['the old format', 'a.doc', COMPOUND, 'is in an old format of Office (.doc, .xls, .ppt)'],
    ['rich text', 'a.rtf', Buffer.from('{\\rtf1 Hello}'), 'is a rich text file (.rtf)'],
    [
      'bytes in place of values',
      'a.csv',
      Buffer.from(Array.from({ length: 900 }, (_, at) => (at * 37) % 251)),
      'binary',
    ],
    [
      'a cut PDF',
      'a.pdf',
      Buffer.from('%PDF-1.4\n1 0 obj\n<<'),
      'is a PDF that cannot be read: it is cut off',
    ],
  ])('says so, and what to do: %s', async (_, name, bytes, words) => {
    const said = await wordsOn(name, bytes);
    expect(said).toContain(words);
    expect(said).not.toMatch(/xmldom|undefined|null|tagName|Invalid|@#/);
  });

  it('is a book with copy protection only where chapters are, not its fonts', async () => {
    const book = (uri: string) => {
      const xml = `<encryption><enc:EncryptedData><enc:CipherReference URI="${uri}"/></enc:EncryptedData></encryption>`;
      return epubOf('Locks', 'The lock is 24 m wide.', { more: { 'META-INF/encryption.xml': xml } });
    };
    expect(await wordsOn('a.epub', book('OPS/fonts/a.otf'))).toContain('read: ');
    expect(await wordsOn('a.epub', book('OPS/a.xhtml'))).toContain('copy protection (DRM)');
  });

  it.each([
    ['UTF-16 with a mark', Buffer.concat([Buffer.from([0xff, 0xfe]), utf16('Name;Länge\nTor;12,5\n')])],
    ['UTF-16 without one', utf16('Name;Länge\nTor;12,5\n')],
    ['a stray control character', Buffer.from('Name;Länge\nTor;12,5\0\n')],
  ])('is none for %s', async (_, bytes) => {
    expect(await wordsOn('a.csv', bytes)).toContain('| Tor | 12,5 |');
  });

  it('is none for parts in UTF-16', async () => {
    const xml = `<?xml version="1.0" encoding="UTF-16"?><office:document-content><office:body><office:text><text:p>The lock is 24 m wide.</text:p></office:text></office:body></office:document-content>`;
    const bytes = Buffer.concat([Buffer.from([0xff, 0xfe]), utf16(xml)]);
    expect(await wordsOn('a.odt', odt(new Uint8Array(bytes)))).toBe('read: The lock is 24 m wide.');
  });
});
