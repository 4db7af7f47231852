// What can keep a caller from talking: what happened, why, and what to do.
import { errorMessage } from '@trunkline/std';
import { ApiError } from '@trunkline/ui';

export type ProblemCode =
  | 'insecure-origin'
  | 'no-microphone'
  | 'microphone-refused'
  | 'microphone-busy'
  | 'no-key'
  | 'service-unreachable'
  | 'service-refused'
  | 'lines-busy'
  | 'media-unreachable'
  | 'lost';

export interface Problem {
  code: ProblemCode;
  what: string;
  why: string;
  todo: string;
  canType: boolean;
}

export class CallProblem extends Error {
  override readonly name = 'CallProblem';
  readonly problem: Problem;

  constructor(problem: Problem, cause?: unknown) {
    super(problem.what, { cause });
    this.problem = problem;
  }
}

const WORDS: Record<ProblemCode, Omit<Problem, 'code'>> = {
  'insecure-origin': {
    what: 'The microphone is closed to this page.',
    why: 'Browsers give the microphone only to pages over https, or on this machine.',
    todo: 'Open the page over https, or at http://localhost on the machine of the service. You can type meanwhile.',
    canType: true,
  },
  'no-microphone': {
    what: 'No microphone was found.',
    why: 'The browser sees none on this device.',
    todo: 'Plug one in and try again, or type instead.',
    canType: true,
  },
  'microphone-refused': {
    what: 'The microphone is not allowed.',
    why: 'You or the browser refused it for this page.',
    todo: 'Allow the microphone in the settings of the page, beside its address, and try again. Or type instead.',
    canType: true,
  },
  'microphone-busy': {
    what: 'The microphone cannot be opened.',
    why: 'Another program may be using it.',
    todo: 'Close the other program or choose another microphone, and try again.',
    canType: true,
  },
  'no-key': {
    what: 'You are not signed in.',
    why: 'The service answers only callers with a key.',
    todo: 'Try again and enter your key. Whoever runs the service can give you one.',
    canType: false,
  },
  'service-unreachable': {
    what: 'The service does not answer.',
    why: 'It may be stopped, or you may be off its network.',
    todo: 'Check that it runs and that you are connected, and try again.',
    canType: false,
  },
  'service-refused': {
    what: 'The service refused the call.',
    why: 'It gave no reason.',
    todo: 'Try again; the log of the service says more.',
    canType: false,
  },
  'lines-busy': {
    what: 'All lines are busy.',
    why: 'Others are talking now.',
    todo: 'Let the page call you back: it rings when a line is free. Or try again later.',
    canType: false,
  },
  'media-unreachable': {
    what: 'Sound does not get through.',
    why: 'The service answers, but its media port cannot be reached from here.',
    todo: 'Join the same network as the service (Wi-Fi or VPN), or set ICE_SERVERS on the service to a TURN relay.',
    canType: false,
  },
  lost: {
    what: 'The connection is gone.',
    why: 'It was tried again for a while, without success.',
    todo: 'Check your network and that the service runs, and start again.',
    canType: false,
  },
};

export function problemOf(code: ProblemCode, more: Partial<Pick<Problem, 'why' | 'todo'>> = {}): Problem {
  return { code, ...WORDS[code], ...more };
}

export function problemIn(error: unknown): Problem {
  if (error instanceof CallProblem) return error.problem;
  if (!(error instanceof ApiError)) {
    return problemOf('service-refused', { why: errorMessage(error) });
  }
  if (error.status === 401) return problemOf('no-key');
  if (error.status === 0) return problemOf('service-unreachable');
  if (['lines_busy', 'machine_busy', 'line_kept'].includes(error.code))
    return problemOf('lines-busy', { why: error.message });
  return problemOf('service-refused', { why: error.message, todo: error.advice });
}
