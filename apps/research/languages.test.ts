import type { ChatRequestBody } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readingsOf } from './citations/statement.ts';
import { type Lab, startLab } from './fixtures/lab.ts';
import { mayBeEnglish, sentenceSpans } from './text/sentences.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await startLab();
  for (const { language, page } of CASES) {
    const form = new FormData();
    form.append('file', new File([page], `${language}.txt`));
    expect((await fetch(`${lab.url}/api/files`, { method: 'POST', body: form })).status).toBe(201);
  }
});
afterAll(() => lab.stop());

interface Case {
  language: string;
  query: string;
  page: string;
  /** In the words of the page. */
  quoted: string;
  /** The same in other words, and the words of the page that show it. */
  free: string;
  words: string;
  /** With a figure that the page does not have. */
  wrong: string;
}

const CASES: readonly Case[] = [
  {
    language: 'Chinese',
    query: '长江大桥的历史',
    page: '武汉长江大桥于1957年建成通车。大桥全长1670米，由苏联专家协助设计。桥上每天有十二万辆汽车通过。',
    quoted: '武汉长江大桥于1957年建成通车。',
    free: '苏联的工程师参与了武汉这座桥的设计工作。',
    words: '由苏联专家协助设计',
    wrong: '大桥全长2890米，由苏联专家协助设计。',
  },
  {
    language: 'Japanese',
    query: '瀬戸大橋の建設',
    page: '瀬戸大橋は1988年に開通した。工事には約一兆円がかかり、全長は12300メートルである。橋は本州と四国を結んでいる。',
    quoted: '瀬戸大橋は1988年に開通した。',
    free: 'この橋によって四国は本州とつながった。',
    words: '橋は本州と四国を結んでいる',
    wrong: '瀬戸大橋の全長は45600メートルである。',
  },
  {
    language: 'Thai',
    query: 'สะพานพระราม 8 ในกรุงเทพ',
    page: 'สะพานพระราม 8 เปิดใช้งานในปี 2545 และมีความยาว ๔๗๕ เมตร\nสะพานนี้ข้ามแม่น้ำเจ้าพระยาในกรุงเทพมหานคร',
    quoted: 'สะพานนี้ข้ามแม่น้ำเจ้าพระยาในกรุงเทพมหานคร',
    free: 'สะพานแห่งนี้ตั้งอยู่ในเมืองหลวงของประเทศไทย 475 เมตร',
    words: 'ข้ามแม่น้ำเจ้าพระยาในกรุงเทพมหานคร',
    wrong: 'สะพานพระราม 8 มีความยาว 862 เมตร ในกรุงเทพมหานคร',
  },
  {
    language: 'Arabic',
    query: 'قناة السويس تاريخ',
    page: 'افتتحت قناة السويس في عام ١٨٦٩ ويبلغ طولها ١٩٣ كيلومترا. هل تمر السفن ليلا؟ تعبرها آلاف السفن كل سنة.',
    quoted: 'تعبرها آلاف السفن كل سنة.',
    free: 'بدأ العمل بقناة السويس سنة 1869 أمام حركة الملاحة.',
    words: 'افتتحت قناة السويس في عام',
    wrong: 'يبلغ طول قناة السويس 527 كيلومترا حسب المصدر.',
  },
  {
    language: 'German',
    query: 'Geschichte der Kaiserbrücke',
    page: 'Die Kaiserbrücke wurde am 1. Mai 1904 dem Verkehr übergeben. Der Bau kostete 1.234,5 Millionen Mark und dauerte drei Jahre. Sie verbindet die beiden Ufer des Rheins.',
    quoted: 'Die Kaiserbrücke wurde am 1. Mai 1904 dem Verkehr übergeben.',
    free: 'Für die Kaiserbrücke wurden 1234,5 Millionen Mark ausgegeben, wie die Quelle berichtet.',
    words: 'Der Bau kostete 1.234,5 Millionen Mark',
    wrong: 'Der Bau der Kaiserbrücke kostete 987,6 Millionen Mark.',
  },
  {
    language: 'French',
    query: 'histoire du viaduc de Garabit',
    page: 'Le viaduc de Garabit a été achevé en 1884 par les ateliers de Gustave Eiffel. Sa construction a coûté 3\u00a0137\u00a0000 francs. Il porte une ligne de chemin de fer.',
    quoted: 'Il porte une ligne de chemin de fer.',
    free: 'Les trains franchissent la vallée grâce au viaduc de Garabit, dont le prix fut de 3,137 millions.',
    words: 'Il porte une ligne de chemin de fer',
    wrong: 'La construction du viaduc de Garabit a coûté 8\u00a0452\u00a0000 francs.',
  },
  {
    language: 'Spanish',
    query: 'historia del puente de Triana',
    page: 'El puente de Triana se terminó en 1852 y es el más antiguo de Sevilla. Tiene una longitud de 149 metros. Fue construido con hierro de la ciudad.',
    quoted: 'Tiene una longitud de 149 metros.',
    free: 'No hay en Sevilla ningún puente más viejo que el de Triana.',
    words: 'es el más antiguo de Sevilla',
    wrong: 'El puente de Triana tiene una longitud de 536 metros.',
  },
];

interface StoredClaim {
  sentence: string;
  supported: boolean;
  judge: string;
  reason: string;
}

const promptOf = (request: ChatRequestBody) => String(request.messages[1]?.content);

/** Writes the sentences in one section, and supports every one of them that it is asked about. */
async function claimsOf({ query, sentences, words }: { query: string; sentences: string[]; words: string }) {
  lab.script.replace = (asked, request) => {
    const prompt = promptOf(request);
    if (asked === 'scope') return JSON.stringify({ dimensions: [{ name: query, queries: [query] }] });
    if (asked === 'checks')
      return JSON.stringify({
        verdicts: Array.from(
          prompt.matchAll(/^Claim (\d+) \(passage \d+\): (.*)$/gm),
          ([, number, claim = '']) => {
            const isOwn = sentences.includes(claim);
            return {
              claim: Number(number),
              verdict: isOwn ? 'supported' : 'not_in_passage',
              words: isOwn ? words : '',
            };
          },
        ),
      });
    if (asked !== 'section') return undefined;
    const number = /^\[(\d+)\]/m.exec(prompt)?.[1] ?? '1';
    return sentences.map((sentence) => sentence.replace(/([.。]?)$/, ` [${number}]$1`)).join('\n');
  };
  const id = await lab.client.startJob({ query, sources: ['files'] });
  await lab.client.events(id);
  const snapshot = await lab.client.status(id);
  const { claims } = (await lab.client.json(`/api/research/deep/${id}/evidence`)) as unknown as {
    claims: StoredClaim[];
  };
  // Where the draft has few sentences, the report adds quotations of its own.
  return {
    snapshot,
    claims: sentences.map((sentence) => claims.find((claim) => claim.sentence === sentence)),
  };
}

describe('a report in another language', () => {
  it.each(CASES)('finds passages and checks citations: $language', async (each) => {
    const { quoted, free, wrong, query, words } = each;
    const { snapshot, claims } = await claimsOf({ query, sentences: [quoted, free, wrong], words });
    expect(snapshot).toMatchObject({ status: 'complete' });
    expect(claims.map((claim) => `${claim?.supported} by ${claim?.judge}`)).toEqual([
      'true by rules',
      'true by model',
      'false by rules',
    ]);
    expect(claims[2]?.reason).toMatch(/nowhere has the figure|another figure|has no figure/);
  });

  it('asks the model about a claim on a page of another language', async () => {
    const { claims } = await claimsOf({
      query: 'historia del puente de Triana',
      sentences: ['Der Übergang in Sevilla ist älter als alle übrigen der Stadt.'],
      words: 'es el más antiguo de Sevilla',
    });
    expect(claims).toMatchObject([{ supported: true, judge: 'model' }]);
  });
});

it.each([
  ['1,234.5', [1234.5]],
  ['1.234,5', [1234.5]],
  ['1\u202f234,5', [1234.5]],
  ['3 137 000', [3_137_000, 3, 137, 0]],
  ['1,5', [1.5]],
  ['1.234', [1.234, 1234]],
  ['1.234.567', [1_234_567]],
  ['١٢٣', [123]],
  ['๔๗๕', [475]],
  ['十二', [12]],
  ['二千零八', [2008]],
  ['二〇〇八', [2008]],
])('reads the number %s', (written, values) => {
  expect(readingsOf(written)).toEqual(values);
});

it.each([
  ['The tunnel was opened by the queen in 1994.', true],
  ['Ten British workers died.', true],
  ['Der Tunnel wurde von der Königin eröffnet.', false],
  ['Le tunnel a été inauguré par la reine.', false],
  ['El túnel fue inaugurado por la reina.', false],
  ['隧道于1994年开通。', false],
])('tells English from other languages: %s', (text, expected) => {
  expect(mayBeEnglish(text)).toBe(expected);
});

it.each([
  ['Der Bau kostete 5 Mio. Mark. Er dauerte drei Jahre.', 2],
  ['Das gilt z. B. für Nr. 7 der Liste, vgl. Abs. 2 der Satzung. Die Art. Es bleibt so.', 3],
  ['Le pont de la ville fut bâti par Mme. Durand et M. Eiffel. Il est en fer.', 2],
  ['El Sr. García y la Sra. Pérez viven en la casa. Tiene 3 hijos.', 2],
  ['Завод стоил 5 млн. Рублей не хватило. Его построили в 1957 г. Инженер руководил работами.', 3],
  ['Die Strecke misst 12 km. Der Zug hält im TV. Danach ist Schluss.', 3],
  ['The line is 12 km. The train stops. He saw the U.S. Senate on TV. It rained.', 4],
  ['It opened in 1957. 12 men died… Nobody knew', 3],
  ['See https://a.example/?q=1.5&r=A.B for more. It is long.', 2],
  ['他说：“来了。”然后走了。真的吗？是。', 4],
  ['Կամուրջը բացվեց։ Այն երկար է։', 2],
  ['| Mill | c. 1810 | timber |', 1],
  ['The mill was built c. 1810 by the town. It burned in 1901.', 2],
  ['The pump is of type c. It was built in 1810.', 2],
  ['ድልድዩ ተከፈተ። ረጅም ነው።', 2],
  ['တံတားကို ဖွင့်ခဲ့သည်။ ရှည်သည်။', 2],
  ['ស្ពានបានបើក។ វាវែង។', 2],
])('ends sentences where they end: %s', (text, count) => {
  expect(sentenceSpans(text).map((span) => span.text)).toHaveLength(count);
});
