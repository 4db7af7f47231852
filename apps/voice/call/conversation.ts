import type { Logger } from '@trunkline/config';
import { anonymous, type Principal } from '@trunkline/identity';
import type { DeliveryPort } from '../delivery/delivery.ts';
import { wordsOf } from '../errors.ts';
import type { SessionRegistry } from '../sessions/registry.ts';
import type { Model } from '../turn/model-settings.ts';
import type { Persona } from '../turn/persona.ts';
import type { User } from '../users/user.ts';
import { Call, type CallComponents } from './call.ts';
import type { Line } from './line.ts';
import { Histories } from './replying/histories.ts';
import type { Memory } from './replying/memory.ts';
import { ToolRuns } from './replying/tool-runs.ts';
import { SpeechCache } from './speaking/speech-cache.ts';

export interface ConversationDeps
  extends Omit<CallComponents, 'line' | 'persona' | 'phrases' | 'histories' | 'runs'> {
  memory: Memory;
  /** Writes summaries of long conversations. */
  summariser(): Model;
  /** As whom a user is answered from now on. */
  persona(user: User, principal: Principal): Persona;
  sessions: SessionRegistry;
  /** Brings the results of tools that nobody waited for. */
  delivery: DeliveryPort;
}

/** Holds a conversation with every caller that the media side has connected. */
export interface Conversations {
  /** `principal`: who asked for the call. */
  begin(line: Line, user: User, principal?: Principal): void;
  /** Cancels the tools that still run when all calls are over. */
  stop(): Promise<void>;
}

export function createConversations(given: ConversationDeps): Conversations {
  const { persona, sessions, memory, summariser, delivery, ...deps } = given;
  const phrases = new SpeechCache(deps.speech.synthesizer);
  const histories = new Histories({ memory, summariser, logger: deps.logger });
  const runs = new ToolRuns({ delivery, logger: deps.logger });
  return {
    stop: () => runs.stop(),
    begin(line, user, principal = anonymous) {
      const answering = personaOf(() => persona(user, principal), user, line, deps.logger);
      if (answering === undefined) return;
      const call = new Call({ ...deps, line, persona: answering, phrases, histories, runs });
      const leave = sessions.open(call);
      line.onClose(leave);
      void call.listen();
    },
  };
}

/** A persona whose model is not set up is told to the caller, and the line is given up. */
function personaOf(persona: () => Persona, user: User, line: Line, logger: Logger): Persona | undefined {
  try {
    return persona();
  } catch (error) {
    logger.error({ err: error, user: user.id }, 'a call cannot be answered');
    line.send({ type: 'error', data: { message: wordsOf(error), fatal: true } });
    line.close('the call cannot be answered');
    return undefined;
  }
}
