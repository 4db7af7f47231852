import type { Logger } from '@trunkline/config';
import { anonymous, type Principal } from '@trunkline/identity';
import { errorMessage } from '@trunkline/std';
import type { DeliveryPort } from '../delivery/delivery.ts';
import type { SessionRegistry } from '../sessions/registry.ts';
import type { Model, Persona, PersonaRequest } from '../turn/persona.ts';
import type { User } from '../users/user.ts';
import { Call } from './call.ts';
import type { CallComponents } from './call-components.ts';
import { fieldsOf, type Line, type LineMessage } from './line.ts';
import { Histories, type Memory } from './replying/history.ts';
import { ToolRuns } from './replying/tool-runs.ts';
import { SpeechCache } from './speaking/speech-cache.ts';

export interface ConversationDeps
  extends Omit<CallComponents, 'line' | 'persona' | 'speechCache' | 'histories' | 'runs'> {
  memory: Memory;
  /** Writes summaries of long conversations. */
  summariser(): Model;
  /** The persona that answers a user. */
  persona(user: User, principal: Principal, request: PersonaRequest): Persona;
  sessions: SessionRegistry;
  /** Announces results of tools that nobody waited for. */
  delivery: DeliveryPort;
}

/** Starts a call for every line that the media side has connected. */
export interface Conversations {
  /** `principal`: who asked for the call. */
  begin(line: Line, user: User, principal?: Principal): void;
  /** Cancels the tools that still run when all calls are over, and waits for the calls' timelines. */
  stop(): Promise<void>;
}

export function createConversations(given: ConversationDeps): Conversations {
  const { persona, sessions, memory, summariser, delivery, ...deps } = given;
  const speechCache = new SpeechCache(deps.speech.synthesizer);
  const histories = new Histories({ memory, summariser, logger: deps.logger });
  const runs = new ToolRuns({ delivery, clock: deps.clock, logger: deps.logger });
  return {
    async stop() {
      await runs.stop();
      await deps.recorder?.settle();
    },
    begin(line, user, principal = anonymous) {
      const { timezone, language } = fieldsOf(line.requestData);
      const answering = personaOf(
        () => persona(user, principal, { timezone, language }),
        user,
        line,
        deps.logger,
      );
      if (answering === undefined) return;
      const call = new Call({ ...deps, line, persona: answering, speechCache, histories, runs });
      const leave = sessions.open(call);
      line.onClose(leave);
      void call.listen();
    },
  };
}

/** Tells the caller why there is no persona (its model is not set up) and closes the line. */
function personaOf(persona: () => Persona, user: User, line: Line, logger: Logger): Persona | undefined {
  try {
    return persona();
  } catch (error) {
    logger.error({ err: error, user: user.id }, 'failed to answer call');
    const why: LineMessage = { type: 'error', data: { message: errorMessage(error), fatal: true } };
    line.close('the call cannot be answered', why);
    return undefined;
  }
}
