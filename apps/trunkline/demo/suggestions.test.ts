import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Suggestion, suggestions } from '@trunkline/std';
import { beforeAll, describe, expect, it } from 'vitest';
import { firstDigest } from '../init/first-digest.ts';
import { RunningServices } from '../init/services.ts';
import type { Name } from '../security/security.suite.ts';
import { type Reply, servicesOfDemo } from './demo.suite.ts';
import { conversations, fileIn, notSaid, quotations } from './guides.suite.ts';

const { fleet, call, say, send, spoken, reported, checkedAnswer } = servicesOfDemo();

/** Somebody who is not known is remembered within a conversation alone. */
const inOneConversation: readonly Suggestion[] = ['remember', 'recall', 'memories', 'log'];

const notes = async (tab: string): Promise<string | undefined> => {
  const { tabs } = await call<{ tabs: Record<string, { name: string; content: string }> }>(
    'agent',
    '/api/notes/workspace',
  );
  return Object.values(tabs).find(({ name }) => name === tab)?.content;
};
const memories = async () => (await say('Use tool memory_list with {"limit": 50}', 'memory')).response;
const schedules = () => call<unknown>('agent', '/api/scheduler/jobs').then((body) => JSON.stringify(body));
const board = () => call<unknown>('agent', '/api/beads/issues').then((body) => JSON.stringify(body));
const goals = () => call<unknown>('agent', '/api/goals').then((body) => JSON.stringify(body));
const researched = () => call<unknown>('research', '/api/research').then((body) => JSON.stringify(body));

type Check = RegExp | ((reply: Reply) => Promise<void>);
const shows =
  (words: string, effect: () => Promise<string | undefined>): Check =>
  async () => {
    expect(await effect()).toContain(words);
  };
const waits =
  (words: RegExp): Check =>
  async ({ state, response }) => {
    expect({ state, response }).toEqual({ state: 'input-required', response: expect.stringMatching(words) });
  };

/** What must come of each suggestion, and of what people type instead; those of one entry are said in their order. */
const promises: Record<Suggestion, [Check, ...(readonly [text: string, check: Check])[]]> = {
  time: [
    /Time in Tokyo: .*\d\d:\d\d:\d\d/,
    ["what's the time in Berlin please", /Time in Berlin: /],
    ['Could you tell me the time in New York?', /Time in New York: /],
    ['WHAT TIME IS IT IN LONDON', /Time in London: /],
    ['Time in Sydney.', /Time in Sydney: /],
    ['Hey, do you know what time it is in São Paulo right now?', /Time in Sao Paulo: /],
  ],
  sum: [
    /= 12\./,
    ["what's 20 percent of 250", /= 50\./],
    ['Please calculate 17 * 23.', /= 391\./],
    ['How much is 12 times 34?', /= 408\./],
    ['Could you work out (3 + 4) * 5 for me?', /= 35\./],
    ['what is 100 divided by 8', /= 12\.5\./],
    ["what's the square root of 144?", /= 12\./],
  ],
  capital: [
    /Capital of Peru: Lima\.\nSource: World Factbook \(offline, November 2015\)/,
    ["what's the capital of France", /Paris/],
    ['Capital of Kenya?', /Nairobi/],
    ['Please tell me the capital city of Australia.', /Canberra/],
    ['How many people live in Brazil?', /204,259,812/],
    ['What languages are spoken in Switzerland?', /Romansch/],
    ['Tell me about Kenya', /Location of Kenya: Eastern Africa/],
  ],
  word: [
    /"serendipity" means: good luck.*\nSource: WordNet \(offline/,
    ['define ubiquitous', /being present everywhere at once/],
    ["What's the meaning of ephemeral?", /lasting a very short time/],
    ['Please tell me what the word "quorum" means.', /gathering of the minimal number/],
    ['Synonyms for happy', /felicitous/],
  ],
  compare: [
    /126,919,659[\s\S]*80,854,408[\s\S]*1\.57 times/,
    ['compare the area of norway and sweden.', /323,802 sq km[\s\S]*450,295 sq km/],
    ['Which country is bigger, Canada or China?', /9,984,670 sq km[\s\S]*9,596,960/],
  ],
  remember: [
    shows('my door code is 4711', memories),
    ['Please remember my favourite colour is green.', shows('my favourite colour is green', memories)],
    ['Remember: the wifi password is hunter2', shows('the wifi password is hunter2', memories)],
    ["Can you remember that Anna's birthday is on 3 May?", shows("Anna's birthday is on 3 May", memories)],
  ],
  recall: [
    /4711/,
    ['What do you know about my door code?', /4711/],
    ['Do you remember my favourite colour?', /green/],
    ["When is Anna's birthday?", /3 May/],
    ["What's the WiFi password?", /hunter2/],
  ],
  memories: [/4711/, ['What do you remember?', /4711/], ['Show me everything you remember', /hunter2/]],
  log: [
    shows('fixed the printer', memories),
    ['Please log that I watered the plants', shows('I watered the plants', memories)],
    ['Add to the daily log: called mum.', shows('called mum', memories)],
  ],
  note: [
    shows('buy milk', () => notes('Shopping')),
    ['Add eggs and bread to my shopping list', shows('eggs and bread', () => notes('Shopping'))],
    ['ADD TEA TO MY SHOPPING NOTES', shows('TEA', () => notes('Shopping'))],
    ['Please put cheese on the Groceries list.', shows('cheese', () => notes('Groceries'))],
    ['Could you add "call the plumber" to my Todo notes?', shows('call the plumber', () => notes('Todo'))],
    ['add oat milk to Shopping', shows('oat milk', () => notes('Shopping'))],
    [
      'Write down that the meeting moved to Friday',
      shows('the meeting moved to Friday', () => notes('Notes')),
    ],
  ],
  readNote: [
    /buy milk\neggs and bread/,
    ['Read my Shopping notes', /buy milk/],
    ['Show me my groceries list please', /cheese/],
  ],
  reminder: [
    shows('Reminder: stretch', schedules),
    ['please remind me in 20 minutes to call the bank', shows('Reminder: call the bank', schedules)],
    ['Remind me to call mum tomorrow at 9', shows('Reminder: call mum', schedules)],
    ['In two hours, remind me to take out the cake', shows('take out the cake', schedules)],
    ['Every Monday at 10 remind me to water the plants', shows('0 10 * * 1', schedules)],
    ['Can you remind me to drink water in half an hour?', shows('drink water', schedules)],
    ['Set a reminder for 6 pm to lock the door', shows('lock the door', schedules)],
    ['Wake me up at 7 tomorrow', shows('wake up', schedules)],
  ],
  schedules: [
    /^- Reminder: stretch: .+ at \d\d:\d\d UTC \(/m,
    ['What reminders do I have?', /Reminder: call mum/],
    ['Show my reminders please', /Reminder: wake up/],
  ],
  cancel: [
    async ({ response }) => {
      expect(response).toMatch(/^Canceled /);
      expect(await schedules()).not.toContain('Reminder: stretch');
    },
    [
      'Please cancel the reminder about the cake.',
      async () => expect(await schedules()).not.toContain('take out the cake'),
    ],
  ],
  task: [
    shows('water the plants', board),
    ['Add a task to clean the windows', shows('clean the windows', board)],
    ['new task: pay the rent.', shows('"pay the rent"', board)],
    ['Please create a task called Book flights', shows('"Book flights"', board)],
    ['Which tasks are open?', /clean the windows/],
    ['mark bd-1 as done', /Closed bd-1/],
  ],
  inbox: [/Inbox empty/, ['Any new messages?', /Inbox empty/]],
  today: [
    /Reminder: call mum[\s\S]*clean the windows[\s\S]*Inbox empty/,
    ["What's on my agenda?", /clean the windows/],
  ],
  goal: [
    shows('"condition":"all tests pass"', goals),
    ['Please set a goal to finish the report.', shows('"condition":"finish the report"', goals)],
    ['My goal is to have an empty inbox', shows('"condition":"have an empty inbox"', goals)],
  ],
  goOn: [
    shows('"condition":"the file report.md has a summary"', goals),
    ['Keep going until the kitchen is clean.', shows('"condition":"the kitchen is clean"', goals)],
  ],
  form: [waits(/A few details/), ['Please show a form for email, phone and age.', waits(/A few details/)]],
  askMe: [waits(/which colour you like/), ['please ask me how old I am', waits(/how old you are/)]],
  clarify: [waits(/where, when and for how many/), ['Please order a pizza.', waits(/which one, how many/)]],
  research: [
    shows('"query":"compare heat pumps"', researched),
    [
      'Could you ask research to compare trains and planes?',
      shows('"compare trains and planes"', researched),
    ],
    ['Ask the research agent about tidal power.', shows('"query":"tidal power"', researched)],
  ],
  search: [
    /energy of tides[\s\S]*\/tides/,
    ['search for heat pumps', /Heat pumps move heat/],
    ['Please look up tidal power online.', /energy of tides/],
  ],
  outage: [
    async () => {
      expect((await send(suggestions.outage)).text).toMatch(/no incidents/i);
    },
  ],
  tool: [/42/],
};

describe('a suggestion keeps its promise at the agent', () => {
  it.each(Object.keys(promises) as Suggestion[])('%s', async (name) => {
    const [first, ...others] = promises[name];
    for (const [text, check] of [[suggestions[name], first] as const, ...others]) {
      const reply = await say(text, inOneConversation.includes(name) ? 'memory' : undefined);
      if (check instanceof RegExp) expect(reply.response, text).toMatch(check);
      else await check(reply);
    }
  });

  it('is what the demo model lists, and nothing else', async () => {
    const { response } = await say('What can you do?');
    const listed = [...response.matchAll(/^- (.+)$/gm)].map(([, text]) => text);
    const known: readonly string[] = [
      ...Object.values(suggestions),
      'Summarise this in two sentences: <text>',
    ];
    expect(listed.filter((text) => !known.includes(text ?? ''))).toEqual([]);
    expect(listed.length).toBeGreaterThan(20);
    const asked = `Summarise this in two sentences: ${'Tides rise and fall. The moon pulls the water. Mills used it. '.repeat(3)}`;
    expect((await say(asked)).response).toMatch(/moon|Tides/);
  });
});

describe('by trunkline send', () => {
  it('asks research', async () => {
    const { text, failed } = await send('Ask research to compare heat pumps and boilers');
    expect({ text, failed }).toEqual({ text: expect.stringMatching(/^research answered: /), failed: false });
    expect(await researched()).toContain('"compare heat pumps and boilers"');
  });

  it.each([
    [suggestions.time, /Time in Tokyo/],
    [suggestions.capital, /Lima/],
    [suggestions.word, /good luck/],
    [suggestions.compare, /126,919,659/],
    [suggestions.today, /Inbox empty/],
  ])('%s', async (text, words) => {
    expect((await send(text)).text).toMatch(words);
  });
});

describe('by voice', () => {
  it.each([
    // What the setup offers.
    ['Remind me in two minutes to stretch', /Scheduled for .*Reminder: stretch/],
    [suggestions.time, /Time in Tokyo/],
    [suggestions.sum, /12/],
    [suggestions.capital, /Lima[\s\S]*World Factbook \(offline/],
    [suggestions.word, /good luck/],
    [suggestions.compare, /126,919,659[\s\S]*80,854,408/],
  ])('%s', async (text, words) => await spoken(words)(text));
});

describe('in research, after a report on one of them', () => {
  beforeAll(async () => void (await reported({ query: suggestions.compare })));

  it.each([
    [suggestions.capital, /^Capital of Peru: Lima/],
    [suggestions.word, /^The noun "serendipity" means: good luck in making/],
    [suggestions.compare, /^Population of Japan: 126,919,659[\s\S]*80,854,408/],
  ])('%s', async (content, words) => {
    const body = { model: 'research-chat', messages: [{ role: 'user', content }] };
    const { choices } = await call<{ choices: { message: { content: string } }[] }>(
      'research',
      '/v1/chat/completions',
      body,
    );
    expect(choices[0]?.message.content).toMatch(words);
    expect(choices[0]?.message.content).toMatch(/\(offline, /);
  });

  it('takes the word of the demo model about itself for no statement', async () => {
    const { text, citations } = await checkedAnswer(suggestions.capital);
    expect(text).toMatch(/^Capital of Peru: Lima[\s\S]*offline demo model/);
    expect(text).not.toContain('[?]');
    expect(citations).toMatchObject({ uncited: 0 });
  });
});

describe('what the guides have people say', () => {
  it.each(conversations())('%s', async (text) => {
    const { response } = await say(text);
    expect(response).not.toMatch(/found nothing in that|failed:|^Error/);
  });

  /** The quotations of the running text, each said where the guide says so. */
  const said: Record<string, (text: string) => Promise<void>> = {
    'What is 15 percent of 80, and what time is it in Tokyo?': spoken(/ = 12\. Time in Tokyo: /),
    'Remember that I prefer tea': async () => void (await say('Remember that I prefer tea', 'memory')),
    'What do you know about me?': async () =>
      expect((await say('What do you know about me?', 'memory')).response).toContain('I prefer tea'),
    'Every morning at 8, search the news for heat pumps and write me a digest': async () => {
      await say('Every morning at 8, search the news for heat pumps and write me a digest');
      const prompt = 'Search the news for heat pumps and write me a digest';
      expect(await schedules()).toContain(`"prompt":"${prompt}","schedule":"0 8 * * *"`);
      expect((await say(prompt)).response).toMatch(/Heat pumps move heat[\s\S]*\/tides/);
    },
    'When is the rent due?': async () => {
      const guide = 'docs/tutorials/research-desk.md';
      const form = new FormData();
      for (const name of ['lease.md', 'energy.md'])
        form.append('file', new File([fileIn(guide, name)], name));
      await fetch(`${fleet().target('research').url}/api/files`, { method: 'POST', body: form });
      const { text } = await checkedAnswer('When is the rent due?');
      const [quoted = ''] = Object.keys(notSaid).filter((words) => words.startsWith('The rent is'));
      expect(text.replace(/\n[\s\S]*/, '')).toContain(quoted);
      expect(text).toMatch(/^The lease runs/);
    },
    'What does the workshop cost to run, and what would a heat pump change?': async () => {
      const query = 'What does the workshop cost to run, and what would a heat pump change?';
      const { report, citations } = await reported({ query, sources: ['files'] });
      expect(report).toMatch(/18,400 kWh[\s\S]*21,900 euros/);
      expect(citations.supported).toBe(citations.total);
    },
    'Research what the heat pump would change.': async () => {
      await spoken(/research answered: /)('Research what the heat pump would change.');
      expect(await researched()).toContain('"query":"what the heat pump would change"');
    },
    'What is 17 times 23?': spoken(/ = 391/),
    'Ask research to compare heat pumps.': spoken(/research answered: /),
    'Remind me in two minutes to stretch': spoken(/Scheduled for .*Reminder: stretch/),
    'Report an incident: the build server is slow': async () => {
      const agents = join(fleet().home, 'switchboard/workspace/agents');
      writeFileSync(join(agents, 'ops.yaml'), fileIn('docs/tutorials/team-agent.md', 'ops.yaml'));
      const known = () => call<object>('switchboard', '/api/workspace').then((body) => JSON.stringify(body));
      await expect.poll(known).toContain('"ops"');
      const { text } = await send('Report an incident: the build server is slow', 'operations');
      expect(text).toContain('Reported as INC-001. Its title: "the build server is slow".');
    },
    'Run the command uptime': async () => {
      const { text } = await send('Run the command uptime', 'operations');
      expect(text).toMatch(/ops: May I run this command\?[\s\S]*\nuptime\n/);
    },
  };

  it('in their running text is run here, or named with the reason why not', () => {
    expect(new Set(quotations())).toEqual(new Set([...Object.keys(said), ...Object.keys(notSaid)]));
  });

  it.each(Object.keys(said))('%s', async (text) => await said[text]?.(text));
});

/** The same prompt that the page at /setup/result says, by the demo model. */
it('writes the morning digest of the setup at once, in the terminal', async () => {
  const told: string[] = [];
  const answers = ['06:30', 'tidal power'];
  const terminal = { say: (text: string) => void told.push(text), ask: async () => answers.shift() };
  const urls = Object.fromEntries(
    fleet()
      .targets()
      .map(({ name, url }) => [name, url]),
  ) as Record<Name, string>;
  await firstDigest(terminal, new RunningServices(urls, fleet().home, {}));
  expect(told.join('\n')).toMatch(
    /^Writing the first one \.\.\.\n[\s\S]* {2}web_search\n[\s\S]*Reminder: call mum[\s\S]*clean the windows[\s\S]*Inbox empty[\s\S]*energy of tides[\s\S]*\/tides[\s\S]*The next one comes on \w+day\b/,
  );
  expect(await schedules()).toMatch(/"id":"morning-digest"[^}]*"schedule":"30 6 \* \* \*"/);
});
