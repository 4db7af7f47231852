import { schedulerTools } from '../scheduler/scheduler-tools.ts';
import { skillTools } from '../skills/skill-tools.ts';
import { codingTools } from './acp/coding-tools.ts';
import { beadsTools } from './beads-tools.ts';
import { contentTools } from './content-tools.ts';
import { delegationTools } from './delegation-tools.ts';
import { goalTools } from './goal-tools.ts';
import { inboxTools } from './inbox-tools.ts';
import { memoryTools } from './memory-tools.ts';
import { notesTools } from './notes-tools.ts';
import type { ToolModule } from './tool-module.ts';
import { webTools } from './web-tools.ts';
import { workspaceTools } from './workspace-tools.ts';

/** The built-in tools. To add one, write a module and name it here: settings, console and docs read this list. */
export const toolModules: readonly ToolModule[] = [
  webTools,
  contentTools,
  notesTools,
  memoryTools,
  beadsTools,
  inboxTools,
  schedulerTools,
  workspaceTools,
  goalTools,
  delegationTools,
  codingTools,
  skillTools,
];
