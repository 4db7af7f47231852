import type { Logger } from '@trunkline/config';
import type { Clock } from '@trunkline/schedule';
import type { Language } from '../languages/languages.ts';
import type { TurnMarks } from '../metrics/metrics.ts';
import type { Persona } from '../turn/persona.ts';
import type { Outgoing } from './line.ts';
import type { SpeechInput } from './listening/speech-input.ts';
import type { History } from './replying/history.ts';
import type { ToolRuns } from './replying/tool-runs.ts';
import type { Fillers } from './speaking/fillers.ts';
import type { SpeechPlayer } from './speaking/speech-player.ts';
import type { Backchannel } from './turns/backchannel.ts';
import type { DecisionLog } from './turns/decisions.ts';
import type { EchoFilter } from './turns/echo-filter.ts';
import type { SpeakingRate } from './turns/endpointing.ts';

/** What the controller of turns needs: input, player, history and tools of one call. */
export interface TurnControllerDeps {
  sessionId: string;
  persona: Persona;
  /** It may change during the call. */
  language(): Language;
  input: SpeechInput;
  player: SpeechPlayer;
  fillers: Fillers;
  backchannel: Backchannel;
  history: History;
  runs: ToolRuns;
  speakingRate: SpeakingRate;
  echo: EchoFilter;
  /** The speech models still load: transcripts come late. */
  isLoading(): boolean;
  clock: Clock;
  logger: Logger;
  decisions: DecisionLog;
  send(message: Outgoing): void;
  /** Returns true if the text needs no reply from the model. */
  intercept(text: string): boolean;
  /** Called when the first sound of a reply was sent. */
  answered(marks: TurnMarks): void;
  /** Called when the bot has said goodbye after `endCall`. */
  hangUp(): void;
}
