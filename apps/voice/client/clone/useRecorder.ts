import { useCallback, useEffect, useRef, useState } from 'react';
import { bytesOf, concatSamples, wavHeader } from '../../speech/audio/samples.ts';
import { problemIn } from '../call/problems.ts';
import { closeStream, loudness, openMicrophone } from '../call/sound.ts';
import workletUrl from './recorder.worklet.ts?worker&url';

export const SHORTEST_SECONDS = 10;
export const LONGEST_SECONDS = 30;
const LOOK_EVERY_MS = 80;

export interface RecorderHook {
  phase: 'empty' | 'recording' | 'ready';
  seconds: number;
  level: number;
  recording: Recording | undefined;
  problem: string | undefined;
  start(): void;
  stop(): void;
  clear(): void;
}

/** Records from the microphone, at most as long as the service accepts. */
export function useRecorder(microphoneId: string | undefined): RecorderHook {
  const recorder = useRef<Recorder | undefined>(undefined);
  const asking = useRef(false);
  const isLeft = useRef(false);
  const [running, setRunning] = useState(false);
  const [seen, setSeen] = useState({ seconds: 0, level: 0 });
  const [recording, setRecording] = useState<Recording | undefined>(undefined);
  const [problem, setProblem] = useState<string | undefined>(undefined);

  const stop = useCallback(async () => {
    const running = recorder.current;
    recorder.current = undefined;
    setRunning(false);
    if (running !== undefined) setRecording(await running.stop());
  }, []);
  const start = async () => {
    if (asking.current) return;
    asking.current = true;
    setRecording(undefined);
    setProblem(undefined);
    try {
      recorder.current = await startRecorder(microphoneId);
      if (isLeft.current) await stop();
      else setRunning(true);
    } catch (error) {
      const { what, todo } = problemIn(error);
      setProblem(`${what} ${todo}`);
    } finally {
      asking.current = false;
    }
  };
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(() => {
      const seconds = recorder.current?.seconds() ?? 0;
      setSeen({ seconds, level: recorder.current?.level() ?? 0 });
      if (seconds >= LONGEST_SECONDS - 0.2) void stop();
    }, LOOK_EVERY_MS);
    return () => clearInterval(timer);
  }, [running, stop]);
  // A closed drawer releases the microphone, even one that the browser grants later.
  useEffect(() => {
    isLeft.current = false;
    return () => {
      isLeft.current = true;
      void recorder.current?.stop();
    };
  }, []);

  return {
    phase: running ? 'recording' : recording === undefined ? 'empty' : 'ready',
    seconds: running ? seen.seconds : (recording?.seconds ?? 0),
    level: running ? seen.level : 0,
    recording,
    problem,
    start: () => void start(),
    stop: () => void stop(),
    clear: () => setRecording(undefined),
  };
}

interface Recording {
  audio: Blob;
  seconds: number;
}

interface Recorder {
  seconds(): number;
  /** Loudness, 0 to 1. */
  level(): number;
  stop(): Promise<Recording>;
}

/**
 * Records a WAV file until it is stopped, as the browser's own recorder writes files that the service cannot read. Fails
 * with a CallProblem if there is no microphone.
 */
async function startRecorder(microphoneId: string | undefined): Promise<Recorder> {
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

export function encodeWav(blocks: readonly Float32Array[], sampleRate: number): Blob {
  const samples = bytesOf(concatSamples(blocks));
  return new Blob([wavHeader(samples.length, sampleRate), samples], { type: 'audio/wav' });
}
