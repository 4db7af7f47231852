import { type ChatRequestBody, type ScriptedReply, startModelServer } from '@trunkline/testing';
import type { Random } from './random.ts';

export interface SoakModel {
  url: string;
  /** Whether it fails, stalls and cuts streams at the moment. */
  isFaulty: boolean;
  /** How many replies were faults. */
  faults(): number;
  /** How many requests came in. */
  requests(): number;
  /** Lets stalled replies go on. */
  release(): void;
  stop(): Promise<void>;
}

const faultShare = 0.12;

/** Answers with the marks of what it was asked, so that every answer can be traced; fails now and then. */
export async function startSoakModel(random: Random): Promise<SoakModel> {
  let faults = 0;
  let requests = 0;
  const server = await startModelServer({
    models: ['soak-model'],
    script: (request) => {
      requests += 1;
      // The server remembers every request for tests that look at them; over hours that would be too much.
      server.requests.length = 0;
      if (!model.isFaulty || !random.chance(faultShare)) return soundReply(request);
      faults += 1;
      return faultOf(random, String(soundText(request)));
    },
  });
  const model: SoakModel = {
    url: server.url,
    isFaulty: true,
    faults: () => faults,
    requests: () => requests,
    release: server.release,
    stop: server.stop,
  };
  return model;
}

function faultOf(random: Random, answer: string): ScriptedReply {
  const half = answer.slice(0, answer.length / 2);
  const kinds: ScriptedReply[] = [
    { fault: 'status', status: 500 },
    { fault: 'status', status: 429, retryAfter: '1' },
    { fault: 'cut', text: half },
    { fault: 'unfinished', text: half },
    { fault: 'malformed', text: half },
    { fault: 'error-chunk', text: half },
    { fault: 'stall', answer },
  ];
  return kinds[random.between(0, kinds.length - 1)] ?? answer;
}

function soundReply(request: ChatRequestBody): ScriptedReply {
  const last = request.messages.at(-1);
  const hasTool = request.tools?.some((tool) => tool.function.name === 'ask_human') ?? false;
  if (last?.role === 'user' && hasTool && String(last.content).includes('ask a person'))
    return { toolCalls: [{ name: 'ask_human', arguments: { question: `May I? ${markOf(request)}` } }] };
  return soundText(request);
}

/** Research asks for plans, summaries and judgements as JSON; everybody else gets the mark of what was asked. */
function soundText(request: ChatRequestBody): string {
  const system = String(request.messages[0]?.content ?? '');
  const part = researchReplies.find(([beginning]) => system.startsWith(beginning));
  return part?.[1] ?? `Answered ${markOf(request)}.`;
}

const researchReplies: [string, string][] = [
  [
    'You plan research',
    JSON.stringify({
      dimensions: ['Stations', 'Costs of tidal power', 'History of tidal power'].map((name) => ({
        name,
        queries: [`tidal power ${name.toLowerCase()}`],
      })),
    }),
  ],
  ['You sum up', JSON.stringify({ summary: 'What the sources say.', keyFinding: 'The main point.' })],
  ['You judge whether', JSON.stringify({ gaps: [] })],
  ['You write one part', 'Tidal power stations use the tide. [1]'],
];

/** The mark in the newest message of the person. */
function markOf(request: ChatRequestBody): string {
  const said = request.messages.filter(({ role }) => role === 'user').at(-1);
  return /soak-[\w-]+/.exec(JSON.stringify(said?.content ?? ''))?.[0] ?? 'nothing';
}
