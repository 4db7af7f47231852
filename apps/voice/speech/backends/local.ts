import { directory, group } from '@trunkline/config';
import { diagnoseWeights } from '../weights.ts';
import { defineSpeechBackend } from './definition.ts';

/** Half a second of silence loads a model. */
const silence = new Float32Array(8000);

/** Listens with local models. */
export const local = defineSpeechBackend({
  name: 'local',
  options: group('Speech recognition', {
    sttModelDir: directory({
      env: 'STT_MODEL_DIR',
      doc: 'Folder with another recognition model (encoder_model.onnx, decoder_model_merged.onnx).',
      defaultDoc: 'the model that npm ci installs',
    }),
  }),
  recognition: {
    create: (_options, { local: models }) => ({
      onlyLanguage: 'en',
      transcribe: models.transcribe,
      async warm() {
        for (const final of [false, true]) await models.transcribe(silence, { final });
      },
    }),
  },
  diagnose: async () => [await diagnoseWeights('recognition')],
});
