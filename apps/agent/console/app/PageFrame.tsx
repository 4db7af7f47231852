import { PageFrame as Frame, type PageFrameProps } from '@trunkline/ui';
import { useLiveState } from './live.ts';

/** A part of the console, with the line on which its changes come. */
export function PageFrame(props: Omit<PageFrameProps, 'stream'>) {
  return <Frame {...props} stream={useLiveState()} />;
}
