import { CallProblem, type ProblemCode, problemOf } from './problems.ts';

/** Opens the microphone that was chosen, else the browser's own; fails with a CallProblem. */
export async function openMicrophone(deviceId: string | undefined): Promise<MediaStream> {
  // Missing where the page is not secure, whatever the types say.
  const devices: MediaDevices | undefined = navigator.mediaDevices;
  if (devices === undefined) throw new CallProblem(problemOf('insecure-origin'));
  try {
    return await devices.getUserMedia({ audio: constraints(deviceId) });
  } catch (error) {
    // The one that was chosen may be unplugged by now.
    if (deviceId !== undefined && nameOf(error) === 'OverconstrainedError') return openMicrophone(undefined);
    throw new CallProblem(problemOf(codeOf(error)), error);
  }
}

export function closeStream(stream: MediaStream | undefined): void {
  for (const track of stream?.getTracks() ?? []) track.stop();
}

function constraints(deviceId: string | undefined): MediaTrackConstraints {
  return {
    echoCancellation: true,
    noiseSuppression: true,
    autoGainControl: true,
    channelCount: 1,
    ...(deviceId !== undefined && { deviceId: { exact: deviceId } }),
  };
}

function codeOf(error: unknown): ProblemCode {
  const name = nameOf(error);
  if (name === 'NotFoundError' || name === 'OverconstrainedError') return 'no-microphone';
  return name === 'NotAllowedError' || name === 'SecurityError' ? 'microphone-refused' : 'microphone-busy';
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : '';
}
