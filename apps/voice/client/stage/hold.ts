import { useEffect, useRef } from 'react';
import type { Call } from '../call/call.ts';

/** What makes an element a button that is held: with a finger, a mouse or Enter; Space is the page's. */
export function holdHandlers(hold: (down: boolean) => void) {
  const up = () => hold(false);
  return {
    onPointerDown(event: React.PointerEvent<HTMLElement>) {
      event.currentTarget.setPointerCapture(event.pointerId);
      hold(true);
    },
    onPointerUp: up,
    onPointerCancel: up,
    onLostPointerCapture: up,
    onKeyDown: (event: React.KeyboardEvent) => event.key === 'Enter' && !event.repeat && hold(true),
    onKeyUp: (event: React.KeyboardEvent) => event.key === 'Enter' && up(),
    onBlur: up,
    // A long press must not open the menu of the browser.
    onContextMenu: (event: React.MouseEvent) => event.preventDefault(),
  };
}

/** Space starts a call, mutes, or is held to talk; not while the person types or stands on another control. */
export function useSpace(call: Call): void {
  const down = useRef(false);
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    const release = () => {
      if (down.current) call.talk(false);
      down.current = false;
    };
    const press = (event: KeyboardEvent) => {
      if (event.code !== 'Space' || event.repeat || isOthers(event.target)) return;
      event.preventDefault();
      down.current = true;
      actOn(call);
    };
    window.addEventListener('keydown', press, { signal });
    const lift = (event: KeyboardEvent) => {
      if (event.code !== 'Space' || !down.current) return;
      // Some browsers press a focused button only now.
      event.preventDefault();
      release();
    };
    window.addEventListener('keyup', lift, { signal });
    window.addEventListener('blur', release, { signal });
    return () => leaving.abort();
  }, [call]);
}

function actOn(call: Call): void {
  const { phase, pushToTalk, muted, hasMicrophone } = call.state();
  if (phase === 'idle') void call.start();
  else if (pushToTalk) call.talk(true);
  else if (phase === 'live' && hasMicrophone) call.mute(!muted);
}

// The orb itself leaves Space to this hook; every other control keeps it.
function isOthers(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.closest('[data-orb-button]') !== null) return false;
  return (
    target.isContentEditable ||
    target.closest('input, textarea, select, button, a, summary, [role=dialog], [role=tab]') !== null
  );
}
