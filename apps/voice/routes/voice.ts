import { describeRoute, validate } from '@trunkline/http';
import { errorMessage } from '@trunkline/std';
import { z } from 'zod';
import type { VoiceReferences } from '../api-types.ts';
import type { VoiceApp, VoiceComponents } from '../components.ts';
import { findBackend } from '../speech/backends/registry.ts';
import { CloneError } from '../speech/clone/cloner.ts';

/** Name and description are shown to everyone; thirty seconds hold no more words than that. */
const uploadSchema = z.object({
  audio: z.file(),
  slug: z.string(),
  name: z.string().max(200).optional(),
  transcript: z.string().max(5000).optional(),
  description: z.string().max(2000).optional(),
});

type VoiceDeps = Pick<VoiceComponents, 'options' | 'sidecar' | 'cloner' | 'counters'>;

/** Voices made from recordings. */
export function mountVoice(app: VoiceApp, { options, sidecar, cloner, counters }: VoiceDeps): void {
  const backend = options.ttsBackend;
  app.get(
    '/api/voice/references',
    describeRoute({ summary: 'Voices saved on the sidecar' }),
    async (context) => {
      if (findBackend(backend)?.synthesis?.clonesVoices !== true)
        return context.json<VoiceReferences>({ backend, references: [] });
      try {
        return context.json<VoiceReferences>({
          backend,
          references: await sidecar.listReferences(context.req.raw.signal),
        });
      } catch (error) {
        return context.json<VoiceReferences>({ backend, references: [], error: errorMessage(error) });
      }
    },
  );

  app.post(
    '/api/voice/clone',
    describeRoute({ summary: 'Clone a voice from a recording of 10 to 30 seconds' }),
    validate('form', uploadSchema),
    async (context) => {
      const { audio, ...fields } = context.req.valid('form');
      const file = { bytes: new Uint8Array(await audio.arrayBuffer()), name: audio.name };
      try {
        const { autoTranscribed, ...clone } = await cloner.clone({ ...fields, audio: file });
        counters.cloneMade();
        return context.json({ ok: true, ...clone, auto_transcribed: autoTranscribed });
      } catch (error) {
        if (error instanceof CloneError) return context.json({ error: error.message });
        throw error;
      }
    },
  );
}
