// Plays a recording to a running voice service and writes the timeline of the call: `npm run voice:talk -- file.wav`.
import { mkdir, readFile } from 'node:fs/promises';
import { basename, extname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { defineOptions, homeOptions, readOptions } from '@trunkline/config';
import { readOperatorKey } from '@trunkline/identity';
import { isServedAt } from '@trunkline/service';
import { errorMessage } from '@trunkline/std';
import { fieldsOf, type LineMessage } from '../call/line.ts';
import { decodeSound } from '../speech/audio/decode.ts';
import { toMono } from '../speech/audio/resample.ts';
import { toInt16 } from '../speech/audio/samples.ts';
import { writeTimeline } from '../timeline/recorder.ts';
import { heardGapsMs } from '../timeline/timeline.ts';
import { talk } from './talk.ts';

const usage = `npm run voice:talk -- FILE [options]

Plays a recording (WAV, MP3, FLAC or OGG) to a running voice service, as a caller would speak, and writes
FILE-timeline.html and FILE-timeline.svg: who spoke when, what was understood, each decision and its reason.

  --url ADDRESS     the voice service (default http://127.0.0.1:7866)
  --key-file FILE   file with the key of the user who calls; the operator's own services need none
  --out FOLDER      where to write (default: the current folder)
  --quiet SECONDS   ends the call after so much silence (default 6)`;

const longestSeconds = 600;
const longestAfterMs = 180_000;

async function main(argv: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: {
      url: { type: 'string', default: 'http://127.0.0.1:7866' },
      'key-file': { type: 'string' },
      out: { type: 'string', default: '.' },
      quiet: { type: 'string', default: '6' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const [recording] = positionals;
  if (values.help || recording === undefined) {
    console.log(usage);
    return values.help ? 0 : 1;
  }
  const quietS = Number(values.quiet);
  if (!(quietS >= 1 && quietS <= 120)) throw new Error('--quiet must be a number of seconds from 1 to 120.');
  const url = values.url.replace(/\/+$/, '');
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort(new Error('interrupted')));
  const sound = await decodeSound(await readFile(recording), longestSeconds);
  const timeline = await talk({
    url,
    headers: await headersFor(url, values['key-file']),
    title: basename(recording),
    sound: toInt16(await toMono(sound, 48_000)),
    quietMs: quietS * 1000,
    limitMs: longestAfterMs,
    signal: stop.signal,
    onMessage: print,
  });
  const folder = resolve(values.out);
  await mkdir(folder, { recursive: true });
  const name = `${basename(recording, extname(recording))}-timeline`;
  const { html, svg } = await writeTimeline(timeline, join(folder, name));
  for (const ms of heardGapsMs(timeline)) console.log(`answer heard after ${ms} ms`);
  console.log(`${html}\n${svg}`);
  return 0;
}

/** The operator's key goes only to a service that runs from this home. */
async function headersFor(url: string, keyFile: string | undefined): Promise<Record<string, string>> {
  if (keyFile !== undefined) return { 'x-api-key': (await readFile(keyFile, 'utf8')).trim() };
  const home = defineOptions('talk', 'Talk', { trunklineHome: homeOptions.trunklineHome });
  const { trunklineHome } = readOptions(home);
  const key = isServedAt(trunklineHome, url) ? readOperatorKey(trunklineHome) : undefined;
  return key === undefined ? {} : { 'x-operator-key': key };
}

/** What the bot is saying, printed when it is complete. */
let speech: string[] = [];

function print({ type, data }: LineMessage): void {
  const fields = fieldsOf(data);
  if (type === 'bot-tts-text') speech.push(String(fields.text));
  else if (speech.length > 0 && /^bot-(stopped|interrupted)/.test(type)) {
    console.log(`bot: ${speech.join(' ')}`);
    speech = [];
  }
  if (type === 'user-transcription' && fields.final === true) console.log(`caller: ${fields.text}`);
  if (type === 'error') console.log(`error: ${fields.message}`);
  if (type === 'server-message' && fields.type === 'decision')
    console.log(`  ${fields.decision}: ${fields.reason}`);
}

try {
  process.exit(await main(process.argv.slice(2)));
} catch (error) {
  console.error(errorMessage(error));
  process.exit(1);
}
