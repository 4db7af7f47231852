// Records the microphone as a WAV file: the browser's own recorder makes files that the service cannot read.
import { closeStream, openMicrophone } from '../call/microphone.ts';
import { loudness } from '../call/sound.ts';
import workletUrl from './recorder.worklet.ts?worker&url';
import { encodeWav } from './wav.ts';

export interface Recording {
  audio: Blob;
  seconds: number;
}

export interface Recorder {
  /** Seconds so far. */
  seconds(): number;
  /** How loud it is now, 0 to 1. */
  level(): number;
  stop(): Promise<Recording>;
}

/** Records until it is stopped; fails with a CallProblem where there is no microphone. */
export async function startRecorder(microphoneId: string | undefined): Promise<Recorder> {
  const stream = await openMicrophone(microphoneId);
  const context = new AudioContext();
  try {
    await context.audioWorklet.addModule(workletUrl);
  } catch (error) {
    closeStream(stream);
    await context.close();
    throw error;
  }
  const source = context.createMediaStreamSource(stream);
  const node = new AudioWorkletNode(context, 'recorder', { numberOfOutputs: 0 });
  const analyser = context.createAnalyser();
  analyser.fftSize = 512;
  source.connect(node);
  source.connect(analyser);
  const blocks: Float32Array[] = [];
  let samples = 0;
  node.port.onmessage = ({ data }: MessageEvent<Float32Array>) => {
    blocks.push(data);
    samples += data.length;
  };
  return {
    seconds: () => samples / context.sampleRate,
    level: () => loudness(analyser),
    async stop() {
      closeStream(stream);
      node.port.onmessage = null;
      await context.close();
      return { audio: encodeWav(blocks, context.sampleRate), seconds: samples / context.sampleRate };
    },
  };
}
