import { useEffect, useRef } from 'react';
import { buttonClass } from '../components/Button.tsx';
import { Lamp } from '../components/Lamp.tsx';
import { OperatorBanner } from '../operator/OperatorProvider.tsx';
import { SetupOffer } from '../setup/SetupOffer.tsx';
import { useHealth } from '../status/health.ts';

/** What concerns the whole page, above its content. Pages of a fixed height leave `--notices` free for it. */
export function Notices() {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const root = document.documentElement.style;
    const observer = new ResizeObserver(() => root.setProperty('--notices', `${element.offsetHeight}px`));
    observer.observe(element);
    return () => {
      observer.disconnect();
      root.removeProperty('--notices');
    };
  }, []);
  return (
    // A grid keeps the margins of what is inside within its own height.
    <div ref={box} className="grid">
      <ModelBanner />
      <OperatorBanner />
      <SetupOffer />
    </div>
  );
}

/** Says why the model cannot be used, and where to set another. */
function ModelBanner() {
  const problem = useHealth().health?.model?.problem;
  if (problem === undefined) return null;
  return (
    <section
      aria-label="Model"
      role="status"
      className="m-4 flex flex-wrap items-center gap-x-4 gap-y-2 rounded-corner bg-failed-wash px-4 py-3 sm:mx-8"
    >
      <Lamp state="failed" dotOnly word="Model problem" />
      <p className="min-w-0 flex-1 basis-64 break-words text-14">{problem}</p>
      <a href="/setup" className={buttonClass({ size: 'small' })}>
        Set up the model
      </a>
    </section>
  );
}
