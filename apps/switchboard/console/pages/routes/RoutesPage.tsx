import { Badge, buttonClass, hashRoute, Line, ListPanel, useHashRoute } from '@trunkline/ui';
import { Plus, Split } from 'lucide-react';
import type { Route } from '../../../api-types.ts';
import { Frame } from '../../app/Frame.tsx';
import { FilePage, NEW } from '../../shared/FilePage.tsx';
import { useList } from '../../shared/useList.ts';
import { DryRun } from './DryRun.tsx';

const TEMPLATE = `name: my-route
# Messages on this topic become requests for the skill; * is one part, # all that follow.
when:
  topic: deploy.finished
  # match: { result.status: failed }
then:
  skill: chat
  # agent: helm
  topic: message.outbound.cli
`;

/** Which messages become requests for which skill. */
export default function RoutesPage() {
  const [, name] = useHashRoute();
  if (name === undefined) return <RouteList />;
  return (
    <FilePage key={name} kind="route" all="routes" place={['routes']} name={name} template={TEMPLATE}>
      <DryRun />
    </FilePage>
  );
}

function RouteList() {
  const list = useList<Route>('/api/routes', ['config.updated']);
  return (
    <Frame
      title="Routes"
      intro="A route takes messages of a topic to a skill. Without one, channels, conversations and keywords decide."
      actions={
        <a className={buttonClass({ variant: 'primary' })} href={hashRoute('routes', NEW)}>
          <Plus aria-hidden /> New route
        </a>
      }
    >
      <div className="grid items-start gap-4 lg:grid-cols-2">
        <ListPanel
          title="Routes"
          what="the routes"
          list={list}
          empty={{
            icon: <Split aria-hidden />,
            title: 'No routes yet',
            next: 'Messages find their agent by channel, keyword or the helm. Add a route to send a topic elsewhere.',
          }}
          itemKey={({ name }) => name}
        >
          {(route) => (
            <Line
              title={route.name}
              href={hashRoute('routes', route.name)}
              detail={
                <span className="block truncate font-mono">
                  {route.when.topic} → {route.then.skill}
                  {route.then.agent && ` by ${route.then.agent}`}
                </span>
              }
              trail={!route.enabled && <Badge>Off</Badge>}
            />
          )}
        </ListPanel>
        <DryRun />
      </div>
    </Frame>
  );
}
