import type { CSSProperties } from 'react';
import type { Look } from './look.ts';
import type { OrbState } from './motion.ts';

// How wide the light is, and how far the ring stands off, in each state.
const SHAPES: Record<OrbState, { heart: number; ring: number }> = {
  idle: { heart: 34, ring: 0 },
  listening: { heart: 48, ring: 10 },
  thinking: { heart: 42, ring: 5 },
  speaking: { heart: 62, ring: 15 },
};

/** An orb of plain colours that does not move: states differ by its light and by a ring. */
export function CalmOrb({ state, look }: { state: OrbState; look: Look }) {
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
