import type { Logger } from '@trunkline/config';
import {
  type AppOptions,
  callerGuard,
  createApp,
  defineErrors,
  describeRoute,
  type RenderError,
  validate,
} from '@trunkline/http';
import { errorMessage } from '@trunkline/std';
import { z } from 'zod';
import type { Admission } from '../../users/admission.ts';
import type { UserDirectory } from '../../users/directory.ts';
import type { User } from '../../users/user.ts';
import { samplesOf, toFloat32 } from '../audio/samples.ts';
import { encodeWav } from '../audio/wav.ts';
import type { Sidecar } from '../sidecar/client.ts';

const bitrate = 128;
const speechFormats = ['mp3', 'wav', 'pcm'] as const;

type Bytes = AsyncGenerator<Uint8Array, void>;

interface Converter {
  contentType: string;
  convert(samples: Bytes, sampleRate: number): Bytes;
}

const converters: Record<(typeof speechFormats)[number], Converter> = {
  wav: { contentType: 'audio/wav', convert: toWav },
  pcm: { contentType: 'audio/pcm', convert: (samples) => samples },
  mp3: { contentType: 'audio/mpeg', convert: toMp3 },
};

/** The header holds the length, so the file comes whole. */
async function* toWav(samples: Bytes, sampleRate: number): Bytes {
  const chunks: Uint8Array[] = [];
  for await (const chunk of samples) chunks.push(chunk);
  yield encodeWav(Buffer.concat(chunks), sampleRate);
}

async function* toMp3(samples: Bytes, sampleRate: number): Bytes {
  const encoder = await loadMp3Encoder();
  encoder.configure({ channels: 1, sampleRate, bitrate });
  for await (const chunk of samples) {
    // The encoder overwrites its result in the next call.
    const bytes = encoder.encode([toFloat32(samplesOf(chunk))]).slice();
    if (bytes.length > 0) yield bytes;
  }
  yield encoder.finalize().slice();
}

/** The encoder (LAME as WebAssembly) is an optional package, loaded for the first MP3. */
async function loadMp3Encoder() {
  try {
    const library = await import('wasm-media-encoders/esnext');
    return await library.createMp3Encoder();
  } catch (cause) {
    throw new Error('MP3 needs the optional package wasm-media-encoders: install it, or ask for wav or pcm', {
      cause,
    });
  }
}

export interface TranslatorOptions {
  sidecar: Sidecar;
  sampleRate: number;
  /** The voice `default`; the sidecar's own if not given. */
  defaultVoice: string | undefined;
  users: UserDirectory;
  admission: Pick<Admission, 'openCaller'>;
  version: string;
  /** Host names under which it answers without a key. */
  allowedHosts?: readonly string[];
  limits?: AppOptions['limits'];
  logger: Logger;
}

const longestInput = 4096;
const errors = defineErrors({
  invalid_api_key: [401, 'unknown or missing api key'],
  speech_failed: [502, (failure: { reason: string }) => failure.reason],
});

const requestSchema = z.object({
  model: z.string().optional(),
  input: z.string().trim().min(1).max(longestInput),
  voice: z.string().min(1).default('default'),
  response_format: z.enum(speechFormats).default('mp3'),
});

const renderError: RenderError = ({ message, code, status }) => ({
  body: { error: { message, type: status < 500 ? 'invalid_request_error' : 'server_error', code } },
});

/** An OpenAI-style speech endpoint in front of the sidecar. */
export function createTranslator(options: TranslatorOptions) {
  const { users, admission, version, logger, sampleRate, allowedHosts = [], limits } = options;
  const app = createApp<User>({
    service: 'voice-translator',
    version,
    description: 'OpenAI-style speech in front of the cloning sidecar.',
    logger,
    renderError,
    allowedHosts,
    ...(limits && { limits }),
    health: () => ({ status: 200, body: { status: 'ok' } }),
  });
  app.use(
    '/v1/*',
    callerGuard<User>({
      keyring: () => users.keyring,
      openCaller: admission.openCaller,
      refuse: errors.invalid_api_key,
    }),
  );
  app.post(
    '/v1/audio/speech',
    describeRoute({ summary: 'Speak a text', mediaType: 'audio/*', errors: [errors.speech_failed] }),
    validate('json', requestSchema),
    async (context) => {
      const { input, voice, response_format: format } = context.req.valid('json');
      const referenceId = voice === 'default' ? options.defaultVoice : voice;
      const { signal } = context.req.raw;
      const { contentType, convert } = converters[format];
      const chunks = convert(options.sidecar.speak({ text: input, referenceId, signal }), sampleRate);
      const body = await opened(chunks);
      return new Response(body, {
        headers: { 'content-type': contentType, 'x-sample-rate': String(sampleRate) },
      });
    },
  );
  return app;
}

/** Awaits the first chunk, so that a sidecar that fails at once gives an error response. */
async function opened(chunks: Bytes): Promise<ReadableStream> {
  const first = await chunks.next().catch((error: unknown) => {
    throw errors.speech_failed({ reason: errorMessage(error) }, { cause: error });
  });
  let next: IteratorResult<Uint8Array, void> | undefined = first;
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = next ?? (await chunks.next());
      next = undefined;
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await chunks.return();
    },
  });
}
