import { describeRoute, validate } from '@trunkline/http';
import { z } from 'zod';
import { wordsOf } from '../errors.ts';
import type { Counters } from '../metrics/record.ts';
import { findBackend } from '../speech/backends/registry.ts';
import { CloneError } from '../speech/clone/clone-error.ts';
import type { VoiceCloner } from '../speech/clone/cloner.ts';
import type { Sidecar } from '../speech/sidecar/sidecar.ts';
import type { VoiceApp } from './voice-app.ts';

export interface VoiceRouteOptions {
  backend: string;
  sidecar: Sidecar;
  cloner: VoiceCloner;
  counters: Counters;
}

/** Name and description are shown to everyone; thirty seconds hold no more words than that. */
const uploadSchema = z.object({
  audio: z.file(),
  slug: z.string(),
  name: z.string().max(200).optional(),
  transcript: z.string().max(5000).optional(),
  description: z.string().max(2000).optional(),
});

export function mountVoice(app: VoiceApp, { backend, sidecar, cloner, counters }: VoiceRouteOptions): void {
  app.get(
    '/api/voice/references',
    describeRoute({ summary: 'Voices saved on the sidecar' }),
    async (context) => {
      if (findBackend(backend)?.synthesis?.clonesVoices !== true)
        return context.json({ backend, references: [] });
      try {
        return context.json({ backend, references: await sidecar.listReferences(context.req.raw.signal) });
      } catch (error) {
        return context.json({ backend, references: [], error: wordsOf(error) });
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
