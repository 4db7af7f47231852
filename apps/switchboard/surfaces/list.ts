import { chatSurface } from './chat/surface.ts';
import { cloudSurface } from './cloud/surface.ts';
import { codehostSurface } from './codehost/surface.ts';
import { messengerSurface } from './messenger/surface.ts';
import { trackerSurface } from './tracker/surface.ts';

/** Every surface, in the order in which they start. */
export const surfaces = [
  chatSurface,
  codehostSurface,
  trackerSurface,
  cloudSurface,
  messengerSurface,
] as const;
