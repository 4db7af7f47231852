import { useMediaQuery, useTheme } from '@trunkline/ui';
import { type CSSProperties, useEffect, useRef, useState } from 'react';
import type { Look } from './look.ts';
import type { Levels, OrbState } from './motion.ts';
import { createOrbPlayer, type OrbPlayer } from './player.ts';

// Width of the light and distance of the ring.
const SHAPES: Record<OrbState, { heart: number; ring: number }> = {
  idle: { heart: 34, ring: 0 },
  listening: { heart: 48, ring: 10 },
  thinking: { heart: 42, ring: 5 },
  speaking: { heart: 62, ring: 15 },
};

interface OrbProps {
  state: OrbState;
  look: Look;
  /** Called for every frame. */
  levels(): Levels;
}

/** A still orb of gradients if motion is not wanted or WebGL fails. */
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

/** States differ by the light and a ring. */
function CalmOrb({ state, look }: { state: OrbState; look: Look }) {
  const { deep, low, middle, high, spark } = look.palette;
  const { heart, ring } = SHAPES[state];
  const ball: CSSProperties = {
    backgroundImage: [
      `radial-gradient(circle at 32% 24%, ${spark}66, transparent 22%)`,
      `radial-gradient(circle at 50% 46%, ${high} 0%, ${middle} ${heart * 0.55}%, transparent ${heart}%)`,
      `radial-gradient(circle at 60% 78%, ${middle}88, transparent 46%)`,
      `radial-gradient(circle at 50% 50%, ${low} 30%, ${deep} 78%)`,
    ].join(', '),
    boxShadow: `0 0 0 ${ring}px ${middle}33, 0 18px 60px ${low}55`,
  };
  return (
    <div
      aria-hidden
      data-orb={look.variant}
      data-state={state}
      className="flex size-full items-center justify-center"
    >
      <div className="size-[64%] rounded-full" style={ball} />
    </div>
  );
}
