import { describeRoute, validate } from '@trunkline/http';
import { z } from 'zod';
import type { RouteDeps, VoiceApp } from '../components.ts';
import { claimOf } from '../media/line-capacity.ts';
import { mediaErrors } from '../media/media-errors.ts';

const longestSdp = 256 * 1024;
const connectionId = z.string().max(200);

/** Made up by the client; names its place among those who wait for a line, and the line that it comes back to. */
const ticketSchema = z.string().min(8).max(100);

const offerSchema = z.object({
  sdp: z.string().max(longestSdp),
  type: z.literal('offer'),
  pc_id: connectionId.nullish(),
  restart_pc: z.boolean().nullish(),
  ticket: ticketSchema.nullish(),
  request_data: z.unknown().optional(),
});

const candidatesSchema = z.object({
  pc_id: connectionId,
  candidates: z
    .array(
      z.object({
        candidate: z.string().max(2000),
        sdp_mid: z.string().max(100).nullish(),
        sdp_mline_index: z.int().min(0).max(1000).nullish(),
      }),
    )
    .max(200),
});

/** How a client connects: an offer, then candidates as they are found. */
export function mountCalls(
  app: VoiceApp,
  { calls, lines, options }: Pick<RouteDeps, 'calls' | 'lines' | 'options'>,
): void {
  const {
    bad_offer,
    bad_candidate,
    connection_unknown,
    lines_busy,
    machine_busy,
    line_kept,
    lines_of_one,
    webrtc_ended,
    webrtc_missing,
  } = mediaErrors;

  app.post(
    '/api/offer',
    describeRoute({
      summary: 'Connect, or change a connection',
      errors: [bad_offer, lines_busy, machine_busy, line_kept, lines_of_one, webrtc_missing, webrtc_ended],
    }),
    validate('json', offerSchema),
    async (context) => {
      const { sdp, pc_id, restart_pc, ticket, request_data: requestData } = context.req.valid('json');
      const offer = {
        sdp,
        id: pc_id ?? undefined,
        restart: restart_pc ?? false,
        ticket: ticket ?? undefined,
        requestData,
      };
      const answer = await calls.offer(offer, {
        user: context.get('caller'),
        principal: context.get('principal'),
        stillStands: context.get('stillStands'),
      });
      return context.json({ sdp: answer.sdp, type: 'answer', pc_id: answer.id });
    },
  );

  app.patch(
    '/api/offer',
    describeRoute({
      summary: 'Add candidates to a connection',
      errors: [bad_candidate, connection_unknown, webrtc_ended],
    }),
    validate('json', candidatesSchema),
    async (context) => {
      const { pc_id, candidates } = context.req.valid('json');
      const found = candidates.map(({ candidate, sdp_mid, sdp_mline_index }) => ({
        candidate,
        mid: sdp_mid ?? null,
        lineIndex: sdp_mline_index ?? null,
      }));
      await calls.addCandidates(pc_id, found, context.get('caller'));
      return context.json({ status: 'success' });
    },
  );

  app.delete(
    '/api/offer',
    describeRoute({ summary: 'Hang up', errors: [connection_unknown] }),
    validate('query', z.object({ pc_id: connectionId })),
    (context) => {
      calls.hangUp(context.req.valid('query').pc_id, context.get('caller'));
      return context.json({ status: 'success' });
    },
  );

  app.post(
    '/api/lines',
    describeRoute({
      summary: 'Wait for a line; ask every few seconds',
      errors: [lines_busy, machine_busy, line_kept, lines_of_one],
    }),
    validate('json', z.object({ ticket: ticketSchema })),
    (context) => {
      const { ticket } = context.req.valid('json');
      return context.json(lines.wait(claimOf(context.get('principal'), ticket)));
    },
  );

  app.delete(
    '/api/lines',
    describeRoute({ summary: 'Stop waiting for a line' }),
    validate('query', z.object({ ticket: ticketSchema })),
    (context) => {
      lines.leave(claimOf(context.get('principal'), context.req.valid('query').ticket));
      return context.json({ status: 'success' });
    },
  );

  app.get('/api/ice', describeRoute({ summary: 'STUN and TURN servers for the client' }), (context) => {
    context.header('cache-control', 'no-store');
    return context.json({ iceServers: options.iceServers });
  });
}
