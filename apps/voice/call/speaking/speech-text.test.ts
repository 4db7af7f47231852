import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { languageOf } from '../../languages/languages.ts';
import { ClauseSplitter, isQuestion, isSayable, lengthOfShare, spokenText } from './speech-text.ts';

function split(...chunks: string[]): string[] {
  const splitter = new ClauseSplitter();
  return [...chunks.flatMap((chunk) => splitter.push(chunk)), ...splitter.flush()].map(({ text }) => text);
}

describe('a text that is being written', () => {
  it('is spoken from its first clause on, before the sentence stands', () => {
    const splitter = new ClauseSplitter();
    expect(splitter.push('The museum opens at nine,')).toEqual([]);
    expect(splitter.push(' and')).toEqual([{ text: 'The museum opens at nine,', start: 0, end: 25 }]);
    expect(splitter.push(' it closes at six, on every day')).toEqual([]);
    expect(splitter.push('. So')).toEqual([
      { text: 'and it closes at six, on every day.', start: 26, end: 61 },
    ]);
    expect(splitter.flush().map(({ text }) => text)).toEqual(['So']);
  });

  it.each([
    [['It costs 3.5 dollars. Good.'], ['It costs 3.5 dollars.', 'Good.']],
    [['It costs 3', '.5 dollars'], ['It costs 3.5 dollars']],
    [['Dr. Watson met Mr. Holmes. They talked.'], ['Dr. Watson met Mr. Holmes.', 'They talked.']],
    [['Oh, well. Yes!'], ['Oh, well.', 'Yes!']],
    [['one\n\ntwo'], ['one', 'two']],
    [['El Sr. Gil y la Sra. Paz. Hola.'], ['El Sr. Gil y la Sra. Paz.', 'Hola.']],
    [['डॉ. शर्मा आए। ठीक है।'], ['डॉ. शर्मा आए।', 'ठीक है।']],
    [['There are 1,000 of them here.'], ['There are 1,000 of them here.']],
    [['   '], []],
  ])('cuts %j into %j', (chunks, clauses) => {
    expect(split(...chunks)).toEqual(clauses);
  });

  it('tells the first clause before the words that follow have come', () => {
    const guesses = (text: string) => {
      const splitter = new ClauseSplitter({ startsEarly: true });
      const words = text.split(/(?=\s)/);
      return words.map((word) => {
        const likely = splitter.likelyFirst?.text;
        const [clause] = splitter.push(word);
        return clause === undefined ? (splitter.likelyFirst?.text ?? likely) : `= ${clause.text}`;
      });
    };
    const [none, guess, clause] = [undefined, 'The capital of France', '= The capital of France'];
    expect(guesses('The capital of France is Paris and')).toEqual([
      none,
      none,
      none,
      none,
      guess,
      guess,
      clause,
    ]);
    // Where the sentence ends soon, more of it is the clause.
    expect(guesses('It is sunny today. So')).toEqual([
      none,
      none,
      none,
      'It is sunny today.',
      '= It is sunny today.',
    ]);
    expect(guesses('It is sunny here today. So')[3]).toBe('It is sunny');
    expect(new ClauseSplitter().likelyFirst).toBeUndefined();
  });

  it('needs no words after a first clause whose sound is there', () => {
    const ready = new Set(['The capital of France', 'Yes, of course.', 'is']);
    const split = (...chunks: string[]) => {
      const splitter = new ClauseSplitter({ startsEarly: true, isReady: (text) => ready.has(text) });
      return chunks.map((chunk) => splitter.push(chunk).map(({ text, end }) => `${text} ${end}`));
    };
    expect(split('The capital of France', ' is')).toEqual([[], ['The capital of France 21']]);
    expect(split('The capital of France', 's')).toEqual([[], []]);
    expect(split('Yes, of course.', ' It is')).toEqual([['Yes, of course. 15'], []]);
    expect(split('3.', '5 or so')).toEqual([[], []]);
  });

  it('reads a long block of code once, and goes on behind it', () => {
    const code = `\`\`\`js\n${'let a = b;\n'.repeat(10_000)}\`\`\`\n`;
    const splitter = new ClauseSplitter({ startsEarly: true });
    const pieces = `Look here:\n${code}That was it. Bye.`.match(/[\s\S]{1,4}/g) ?? [];
    const clauses = [...pieces.flatMap((piece) => splitter.push(piece)), ...splitter.flush()];
    expect(clauses.map(({ text }) => text)).toEqual(['Look here:', code.trim(), 'That was it.', 'Bye.']);
  });

  it.each(['| Some long names | and their towns | here |', '# The opening hours of the museums in the town'])(
    'does not begin with a part of %j',
    (line) => {
      const splitter = new ClauseSplitter({ startsEarly: true });
      expect(splitter.push(`${line}\nThen more follows.`)[0]?.text).toBe(line);
    },
  );

  it.each([
    ['日本語の文です。次の文もあります。', ['日本語の文です。', '次の文もあります。']],
    ['他说：“今天很冷。”然后他走了！', ['他说：“今天很冷。”', '然后他走了！']],
    ['प्रधानमंत्री आज आए। वे कल जाएंगे।', ['प्रधानमंत्री आज आए।', 'वे कल जाएंगे।']],
    ['هل أنت بخير؟ نعم، أنا بخير.', ['هل أنت بخير؟', 'نعم، أنا بخير.']],
    ['明日は東京 Tower へ行きます。楽しみです。', ['明日は東京 Tower へ行きます。', '楽しみです。']],
  ])('cuts %j at the ends of its sentences, in its own script', (text, clauses) => {
    expect(split(text)).toEqual(clauses);
    expect(split(...text)).toEqual(clauses);
  });

  it.each([
    [
      'Japanese',
      '明日の朝は東京から京都まで新幹線で行って、それから古いお寺をいくつか見る予定ですがまだ決めていません',
    ],
    ['Chinese', '明天早上我们先从北京坐高铁去上海然后再去看几个很有名的博物馆和公园如果天气好的话'],
    ['Thai', 'พรุ่งนี้เช้าเราจะเดินทางจากกรุงเทพไปเชียงใหม่โดยรถไฟ แล้วเราจะไปดูวัดเก่าหลายแห่งในเมืองด้วยกัน'],
  ])('speaks %s before the reply has ended', (_, text) => {
    const splitter = new ClauseSplitter();
    const early = [...text].slice(0, -5).flatMap((letter) => splitter.push(letter));
    expect(early.length).toBeGreaterThan(0);
    const whole = [...early, ...splitter.push(text.slice(-5)), ...splitter.flush()];
    expect(
      whole
        .map((clause) => clause.text)
        .join('')
        .replace(/\s/g, ''),
    ).toBe(text.replace(/\s/g, ''));
  });

  it('remembers what was heard up to the last whole word, in scripts without blanks too', () => {
    const text = '明日は東京へ行きます';
    expect(text.slice(0, lengthOfShare(text, 0.5))).toBe('明日は東京');
    expect(lengthOfShare(text, 1)).toBe(text.length);
  });

  it('keeps a block of code in one piece, of which nothing is spoken', () => {
    const code = `const a = 1;\n\nconst long = "${'x, '.repeat(200)}";\n`;
    const text = `Here it is:\n\n\`\`\`ts\n${code}\`\`\`\n\nThat was all. Bye.`;
    for (const chunks of [[text], [...text]])
      expect(
        split(...chunks)
          .map((clause) => spokenText(clause))
          .filter(isSayable),
      ).toEqual(['Here it is:', 'That was all.', 'Bye.']);
  });

  it.each([
    ['The capital of France is Paris and it lies on the river Seine.', 'The capital of France', 4],
    ['Photosynthesis turns light into sugar and oxygen in the leaves.', 'Photosynthesis turns light', 3],
    ['Your next appointment is on Monday at nine.', 'Your next appointment', 3],
    ['La capitale de la France est Paris et elle est belle.', 'La capitale de la France', 5],
    ['It is in the kitchen beside the window there.', 'It is in the kitchen', 5],
  ])('begins with a few words where somebody waits: %j', (text, clause, words) => {
    const splitter = new ClauseSplitter({ startsEarly: true });
    const early = [...text.split(/(?<= )/).slice(0, words + 3)].flatMap((chunk) => splitter.push(chunk));
    expect(early.map((found) => found.text)).toEqual([clause]);
  });

  it.each([
    ['It costs four euros.', ['It costs four euros.']],
    [
      'The museum opens at nine, and it closes at six.',
      ['The museum opens at nine,', 'and it closes at six.'],
    ],
    ['It is 5 million euros in all by now.', ['It is 5 million euros', 'in all by now.']],
    ['It costs about 5 million euros in all now.', ['It costs about', '5 million euros in all now.']],
    ['See [the long report](http://a.b/c) at once.', ['See [the long report](http://a.b/c) at once.']],
    ['Ask for Dr. Watson there at once today please.', ['Ask for Dr. Watson', 'there at once today please.']],
  ])('tears nothing apart to begin early: %j', (text, clauses) => {
    const splitter = new ClauseSplitter({ startsEarly: true });
    const found = [...[...text].flatMap((letter) => splitter.push(letter)), ...splitter.flush()];
    expect(found.map((clause) => clause.text)).toEqual(clauses);
  });

  it('lets each clause be longer than the one before, where somebody waits', () => {
    const splitter = new ClauseSplitter({ startsEarly: true });
    const endless = Array.from({ length: 100 }, () => 'words').join(' ');
    const lengths = [...splitter.push(endless), ...splitter.flush()].map(
      ({ text }) => text.split(' ').length,
    );
    expect(lengths.slice(0, 4)).toEqual([3, 8, 16, 32]);
  });

  it('does not wait for a sentence that does not end', () => {
    const endless = Array.from({ length: 100 }, (_, index) => `word${index}`).join(' ');
    const clauses = split(endless);
    expect(clauses.length).toBeGreaterThan(3);
    expect(clauses[0]?.split(' ')).toHaveLength(12);
    expect(split('x'.repeat(2000)).every(({ length }) => length <= 400)).toBe(true);
  });

  it('loses nothing and says nothing twice, however it arrives', () => {
    const words = fc.array(
      fc.constantFrom('one', 'two,', 'three.', 'four?', '5', '6.5', '\n', 'Mr.', '-', 'x!'),
      {
        maxLength: 60,
      },
    );
    fc.assert(
      fc.property(words, fc.integer({ min: 1, max: 9 }), (list, size) => {
        const text = list.join(' ');
        const chunks = text.match(new RegExp(`.{1,${size}}`, 'gs')) ?? [];
        const splitter = new ClauseSplitter({ startsEarly: size % 2 === 0 });
        const clauses = [...chunks.flatMap((chunk) => splitter.push(chunk)), ...splitter.flush()];
        const flat = (value: string) => value.replace(/\s+/g, '');
        expect(flat(clauses.map((clause) => clause.text).join(''))).toBe(flat(text));
        for (const clause of clauses) expect(text.slice(clause.start, clause.end).trim()).toBe(clause.text);
      }),
    );
  });
});

describe('a question', () => {
  it.each(['Shall I book it?', '予約しますか？', 'هل أحجز الطاولة؟', 'He asked: "Why?"'])('is %j', (text) => {
    expect(isQuestion(text)).toBe(true);
  });
  it.each(['I booked it.', 'What a day!', 'One; two'])('is not %j', (text) => {
    expect(isQuestion(text)).toBe(false);
  });
});

describe('a text that is spoken', () => {
  it.each([
    ['**Bold** and `code`', 'Bold and code'],
    ['# Title', 'Title'],
    ['- first', 'first'],
    ['See [the page](https://x.example/a) now', 'See the page now'],
    ['At https://x.example/long?query=1 today', 'At a link today'],
    ['Nice 😀 day', 'Nice day'],
    ['snake_case stays', 'snake_case stays'],
    ['2 * 3', '2 times 3'],
    ['15 / 100 * 80 = 12 and (1+1)*4', '15 / 100 times 80 = 12 and (1+1) times 4'],
    ['2 ** 10 = 1024', '2 to the power of 10 = 1024'],
    ['a **2** b', 'a 2 b'],
    ['| City | Weather |', 'City, Weather.'],
    ['|---|:--:|', ''],
    ['| City | °C |\n|---|---|\n| Rome | 20 |\n| Oslo | |', 'City, °C. Rome, 20. Oslo.'],
    ['Buy:\n- milk\n- bread!\n- eggs', 'Buy: milk. bread! eggs'],
    ['## Today\nIt rains.', 'Today. It rains.'],
  ])('says %j as %j', (written, spoken) => {
    expect(spokenText(written)).toBe(spoken);
  });

  it.each([
    ['es', 'Mira https://x.example y 2 * 3', 'Mira un enlace y 2 por 3'],
    ['fr', 'Voir https://x.example et 2 ** 3', 'Voir un lien et 2 puissance 3'],
    ['hi', 'देखें https://x.example', 'देखें एक लिंक'],
  ])('is spoken in %s: %s', (language, written, spoken) => {
    expect(spokenText(written, languageOf(language))).toBe(spoken);
  });

  it('knows what makes no sound', () => {
    expect(isSayable('...')).toBe(false);
    expect(isSayable('5')).toBe(true);
  });
});
