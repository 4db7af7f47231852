import { describe, expect, it } from 'vitest';
import { ask } from '../demo.suite.ts';

type Expected = [tool: string, input: Record<string, unknown>];

async function expectCalls(text: string, expected: Expected[], tools?: string[]) {
  const { calls } = await ask(text, tools);
  expect(calls).toEqual(expected.map(([tool, input]) => ({ tool, input })));
}

it('takes the reminder of a goal for no new goal', async () => {
  await expectCalls(
    'The goal is not reached yet: all tests pass\nThe last check found: nothing\nGo on until it is reached.',
    [],
    ['set_goal'],
  );
});

describe('one wish', () => {
  it.each<[string, string, Record<string, unknown>]>([
    ['What time is it in Tokyo?', 'current_time', { timezone: 'Asia/Tokyo' }],
    ['what time is it', 'current_time', { timezone: 'UTC' }],
    [
      'Hey, could you please tell me the time in New York right now?',
      'current_time',
      { timezone: 'America/New_York' },
    ],
    ['What is the date today?', 'current_time', { timezone: 'UTC' }],
    ['what is the time in America/Nuuk', 'current_time', { timezone: 'America/Nuuk' }],
    ['What time is it in Atlantis?', 'current_time', { timezone: 'Atlantis' }],
    ['what is 12*7+3', 'calculator', { expression: '12*7+3' }],
    ['15% of 80', 'calculator', { expression: '15 / 100 * 80' }],
    ['What is 1,200 divided by 4?', 'calculator', { expression: '1200 / 4' }],
    ['calculate (3 + 4)^2', 'calculator', { expression: '(3 + 4)**2' }],
    ['What is seven?', 'web_search', { query: 'What is seven' }],
    ['Remember that I like tea and coffee', 'memory_ingest', { content: 'I like tea and coffee' }],
    [
      'Please remember the bins go out every Monday',
      'memory_ingest',
      { content: 'the bins go out every Monday' },
    ],
    ['What is my door code?', 'memory_recall', { query: 'door code' }],
    ['do you remember where I parked?', 'memory_recall', { query: 'parked' }],
    ['What do you know about me?', 'memory_list', {}],
    ['How many memories do you have?', 'memory_stats', {}],
    ['Log: fixed the printer', 'daily_log', { content: 'fixed the printer' }],
    ['add lunch with Bob to my daily log', 'daily_log', { content: 'lunch with Bob' }],
    ['List my notes', 'notes_list', {}],
    ['read my notes', 'notes_read', { tab: '' }],
    ['read my Shopping notes', 'notes_read', { tab: 'Shopping' }],
    [
      'Add buy milk to my Shopping notes',
      'notes_write',
      { tab: 'Shopping', content: 'buy milk', mode: 'append' },
    ],
    [
      'make a note that the cat is fed',
      'notes_write',
      { tab: 'Notes', content: 'the cat is fed', mode: 'append' },
    ],
    [
      'replace the Shopping note with eggs',
      'notes_write',
      { tab: 'Shopping', content: 'eggs', mode: 'replace' },
    ],
    ['undo the last change to the Shopping notes', 'notes_revert', { tab: 'Shopping', steps: 1 }],
    ['list my schedules', 'list_schedules', {}],
    ['cancel job agent-123-abc', 'cancel_schedule', { job_id: 'agent-123-abc' }],
    ['search the web for tidal power', 'web_search', { query: 'tidal power' }],
    ['Search the news for heat pumps and write me a digest', 'web_search', { query: 'heat pumps' }],
    ['Research what it would change.', 'delegate_to', { target: 'research', query: 'what it would change' }],
    ['Who built the Great Wall?', 'web_search', { query: 'Who built the Great Wall' }],
    ['Tell me about tidal power', 'look_up', { query: 'tidal power' }],
    ['Read https://example.org/page.html.', 'fetch_url', { url: 'https://example.org/page.html' }],
    ['https://example.org', 'fetch_url', { url: 'https://example.org' }],
    [
      'ask research to compare heat pumps',
      'delegate_to',
      { target: 'research', query: 'compare heat pumps' },
    ],
    ['delegate to the coder: fix the bug', 'delegate_to', { target: 'coder', query: 'fix the bug' }],
    ['hand the report to research', 'delegate_to', { target: 'research', query: 'the report' }],
    ['Create a task: water the plants', 'beads_create', { title: 'water the plants', issue_type: 'task' }],
    ['file a bug: the button is blue', 'beads_create', { title: 'the button is blue', issue_type: 'bug' }],
    ['show the board', 'beads_list', {}],
    ['close bd-3 because it is done', 'beads_close', { issue_id: 'bd-3', reason: 'it is done' }],
    ['mark bd-3 as in progress', 'beads_update', { issue_id: 'bd-3', status: 'in_progress' }],
    ['set bd-4 priority to 1', 'beads_update', { issue_id: 'bd-4', priority: 1 }],
    ['rename bd-4 to Paint the fence', 'beads_update', { issue_id: 'bd-4', title: 'Paint the fence' }],
    ['Check my inbox', 'check_inbox', {}],
    ['Is there an outage?', 'get_incidents', {}],
    ['list all incidents', 'get_incidents', { all: true }],
    ['report an incident: the door is stuck', 'report_incident', { title: 'the door is stuck' }],
    [
      'Report a critical outage of the mail server',
      'report_incident',
      { title: 'the mail server', severity: 'critical' },
    ],
    ['Set a goal: all tests pass', 'set_goal', { condition: 'all tests pass' }],
    ['I want to set a goal: drink more water', 'set_goal', { condition: 'drink more water' }],
    ['ask me which colour I like', 'ask_human', { question: 'Please tell me which colour you like.' }],
    ['get the projects', 'get_projects', {}],
    ['run ceremony standup', 'run_ceremony', { name: 'standup' }],
  ])('%s', async (text, tool, input) => {
    await expectCalls(text, [[tool, input]]);
  });

  it('asks for details when a wish is too vague to act on', async () => {
    const { calls } = await ask('Book a table');
    expect(calls).toMatchObject([
      { tool: 'ask_human', input: { question: expect.stringContaining('book a table') } },
    ]);
  });

  it('builds a form', async () => {
    const { calls } = await ask('Show me a form for my name and city');
    const properties = { name: { type: 'string' }, city: { type: 'string' } };
    expect(calls).toMatchObject([
      { tool: 'request_user_input', input: { steps: [{ schema: { properties } }] } },
    ]);
  });

  it('turns a wish into the tools of the research chat', async () => {
    const tools = ['searchWeb', 'searchEncyclopedia', 'askClarification'];
    await expectCalls(
      'What is photosynthesis?',
      [
        ['searchEncyclopedia', { query: 'What is photosynthesis' }],
        ['searchWeb', { query: 'What is photosynthesis' }],
      ],
      tools,
    );
    await expectCalls(
      'find news about comets',
      [['searchWeb', { query: 'comets', categories: 'news' }]],
      tools,
    );
    expect((await ask('book a flight', tools)).calls).toMatchObject([{ tool: 'askClarification' }]);
  });

  it('searches the research chat for words that mean nothing else', async () => {
    const tools = ['searchWeb', 'askClarification'];
    await expectCalls('Tidal power', [['searchWeb', { query: 'Tidal power' }]], tools);
    expect((await ask('Hello', tools)).calls).toEqual([]);
    expect((await ask('What can you do?', tools)).calls).toEqual([]);
    expect((await ask('Tidal power', ['web_search'])).calls).toEqual([]);
  });

  it('takes any name for an agent where the tool lists none', async () => {
    await expectCalls(
      'ask codex to fix the build',
      [['code_with', { agent: 'codex', task: 'fix the build' }]],
      ['code_with'],
    );
  });
});

describe('several wishes', () => {
  it('makes parallel calls', async () => {
    await expectCalls('What time is it in Tokyo and what is 12*7+3 and remember that I like tea and jazz', [
      ['current_time', { timezone: 'Asia/Tokyo' }],
      ['calculator', { expression: '12*7+3' }],
      ['memory_ingest', { content: 'I like tea and jazz' }],
    ]);
  });

  it('asks for the time of two places at once', async () => {
    await expectCalls("What's the time in Paris and in London?", [
      ['current_time', { timezone: 'Europe/Paris' }],
      ['current_time', { timezone: 'Europe/London' }],
    ]);
  });

  it('reads each sentence on its own', async () => {
    await expectCalls('Remember: the code is 4711. What is 2+2?', [
      ['memory_ingest', { content: 'the code is 4711' }],
      ['calculator', { expression: '2+2' }],
    ]);
  });
});

describe('a command', () => {
  it.each([
    ['Run the command ls -la', 'ls -la'],
    ['please run the command `git log --oneline -5`.', 'git log --oneline -5'],
    ['Execute the command echo "A & B" > Out.txt', 'echo "A & B" > Out.txt'],
  ])('of "%s" is asked for as it was written', async (text, command) => {
    await expectCalls(text, [['run_command', { command }]], ['run_command', 'web_search']);
  });
});

describe('a tool named outright', () => {
  it('is called with the JSON as it stands, whatever the JSON holds', async () => {
    await expectCalls('use tool run_ceremony with {"name": "a } b, then c"} and what is 2+2', [
      ['run_ceremony', { name: 'a } b, then c' }],
      ['calculator', { expression: '2+2' }],
    ]);
  });

  it('is called without JSON when it needs none', async () => {
    await expectCalls('use tool get_projects', [['get_projects', {}]]);
  });

  it('is refused in words when it is not there or the JSON is broken', async () => {
    expect((await ask('use tool nope with {"a": 1}', ['calculator'])).text).toContain('no tool named "nope"');
    expect((await ask('use tool nope with {"a": 1}', ['calculator'])).text).toContain('calculator');
    const broken = await ask('use tool calculator with {"expression": ', ['calculator']);
    expect(broken.calls).toEqual([]);
    expect(broken.text).toContain('not valid JSON');
  });
});

describe('no call', () => {
  it.each(['What time is it?', 'what is 2+2', 'remember my name', 'ask research to look', 'use tool x'])(
    'is made for a tool that is not offered: %s',
    async (text) => {
      expect((await ask(text, ['check_inbox'])).calls).toEqual([]);
      expect((await ask(text, [])).calls).toEqual([]);
    },
  );

  it('is made to an agent that is not listed', async () => {
    const { calls, text } = await ask('ask bob to do this');
    expect(calls).toEqual([]);
    expect(text).toContain('I know no agent called "bob". I can ask: research, coder.');
  });
});
