import type { Bus } from '@trunkline/bus';
import { describeRoute } from '@trunkline/http';
import type { Hono } from 'hono';
import type { SwitchboardEnv } from './guards.ts';

/** Which switchboard of several this is, and whether it keeps time for all. */
export function mountCluster(
  app: Hono<SwitchboardEnv>,
  bus: Bus,
  self: { node(): string; isLeader(): boolean },
): void {
  app.get(
    '/api/cluster',
    describeRoute({ summary: 'This switchboard among those that share its bus' }),
    (context) => {
      const { engine, connected } = bus.status();
      return context.json({
        success: true,
        data: { node: self.node(), isLeader: self.isLeader(), bus: engine, connected },
      });
    },
  );
}
