import { Button } from '../components/Button.tsx';
import { Lamp } from '../components/Lamp.tsx';
import { useOperator } from './OperatorProvider.tsx';

/** Says that a part of the page is for the operator, with the way to sign in. */
export function OperatorBanner() {
  const { status, missed, ask } = useOperator();
  if (!missed || status.name !== 'signed-out') return null;
  return (
    <section
      aria-label="Operator"
      className="m-4 flex flex-wrap items-center gap-x-4 gap-y-2 rounded-corner bg-waiting-wash px-4 py-3 sm:mx-8"
    >
      <Lamp state="waiting" dotOnly />
      <div className="min-w-0 flex-1 basis-64">
        <p className="font-semibold text-14">A part of this page is for the operator.</p>
        <p className="text-14">Settings, files with secrets and approvals show up once you sign in.</p>
      </div>
      <Button variant="primary" onClick={() => void ask()}>
        Sign in as operator
      </Button>
    </section>
  );
}
