import { PageFrame, type PageFrameProps } from '@trunkline/ui';
import { useLiveState } from '../shared/live.ts';

/** The frame of a part of the console. */
export function Frame(props: Omit<PageFrameProps, 'stream'>) {
  return <PageFrame {...props} stream={useLiveState()} />;
}
