import { ArrowUpRight, BookOpen, HeartPulse } from 'lucide-react';
import { Line } from '../components/Line.tsx';
import { Panel } from '../components/Panel.tsx';

/** Where programs find the service. */
export function ReferencePanel() {
  const arrow = <ArrowUpRight aria-hidden className="size-4" />;
  return (
    <Panel title="For programs" flush>
      <ul>
        <Line
          lead={<BookOpen aria-hidden />}
          title="API documentation"
          detail="Every route and what it takes"
          href="/docs"
          trail={arrow}
        />
        <Line
          lead={<HeartPulse aria-hidden />}
          title="Raw status"
          detail={<code>/healthz</code>}
          href="/healthz"
          trail={arrow}
        />
      </ul>
    </Panel>
  );
}
