import { useMediaQuery, useTheme } from '@trunkline/ui';
import { useEffect, useRef, useState } from 'react';
import { CalmOrb } from './CalmOrb.tsx';
import type { Look } from './look.ts';
import type { Levels, OrbState } from './motion.ts';
import { createOrbPlayer, type OrbPlayer } from './player.ts';

interface OrbProps {
  state: OrbState;
  look: Look;
  /** How loud both sides are now; asked for every picture. */
  levels(): Levels;
}

/** The orb; a calm one of plain colours where motion is not wanted or cannot be drawn. */
export function Orb(props: OrbProps) {
  const still = useMediaQuery('(prefers-reduced-motion: reduce)');
  const [drawable, setDrawable] = useState(true);
  if (still || !drawable) return <CalmOrb state={props.state} look={props.look} />;
  return <DrawnOrb {...props} onFailed={() => setDrawable(false)} />;
}

function DrawnOrb({ state, look, levels, onFailed }: OrbProps & { onFailed(): void }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const player = useRef<OrbPlayer | undefined>(undefined);
  const light = useTheme().shown === 'light';
  const view = useRef({ state, look, light });
  view.current = { state, look, light };
  const failed = useRef(onFailed);
  useEffect(() => {
    if (canvas.current === null) return;
    player.current = createOrbPlayer(canvas.current, levels, view.current, () => failed.current());
    return () => player.current?.stop();
  }, [levels]);
  useEffect(() => player.current?.show({ state, look, light }), [state, look, light]);
  return (
    <canvas ref={canvas} aria-hidden data-orb={look.variant} data-state={state} className="block size-full" />
  );
}
