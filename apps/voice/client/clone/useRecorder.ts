import { useCallback, useEffect, useRef, useState } from 'react';
import { problemIn } from '../call/problems.ts';
import { type Recorder, type Recording, startRecorder } from './recorder.ts';

export const SHORTEST_SECONDS = 10;
export const LONGEST_SECONDS = 30;
const LOOK_EVERY_MS = 80;

export interface RecorderHook {
  phase: 'empty' | 'recording' | 'ready';
  seconds: number;
  level: number;
  recording: Recording | undefined;
  /** Why it could not be recorded. */
  problem: string | undefined;
  start(): void;
  stop(): void;
  clear(): void;
}

/** Records from the microphone, at most as long as the service takes. */
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
  // A drawer that is closed lets the microphone go, also one that the browser gives only then.
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
