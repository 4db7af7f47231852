import { ownerFilter, type Principal } from '@trunkline/identity';
import type { Bindings } from '@trunkline/storage';
import type { Flow, FlowStatus } from '../api-types.ts';

export interface FlowQuery {
  since?: number | undefined;
  status?: FlowStatus | undefined;
  limit: number;
  offset?: number;
  /** Who looks. */
  principal: Principal;
}

export type ReadAll = <Row>(sql: string, values: Bindings) => Row[];

/** Flows that changed later than this after they were opened are in indexes of their own. */
export const quickMs = 1000;
export const columns =
  'id, type, status, stage, createdAt, startedAt, completedAt, durationMs, skill, requestPreview, executorType, targetAgent, errorPreview, approval, updatedAt';
/** Beyond this offset SQLite sorts all flows that somebody sees: slower than by owner, but without holding them here. */
const mostMerged = 2000;
const newest = 'ORDER BY createdAt DESC, rowid DESC LIMIT ? OFFSET ?';

/** The newest first, each found by an index: of what was asked for, and of little else. */
export function listFlows(all: ReadAll, query: FlowQuery): Flow[] {
  const { since = 0, status, limit, offset = 0, principal } = query;
  const seen = ownerFilter(principal);
  if (status !== undefined && status !== 'complete') {
    // Few are open, and their index has them all: of anybody, so that SQLite does not go over all flows of an owner.
    // It uses the partial index only if the query names its condition.
    const where = `${seen.sql} AND updatedAt >= ? AND status = ? AND status <> 'complete'`;
    const values = [...seen.values, since, status, limit, offset];
    return all(`SELECT ${columns} FROM flows INDEXED BY flows_open WHERE ${where} ${newest}`, values);
  }
  if (principal.kind === 'operator') return flowsOf(all, undefined, query);
  if (offset > mostMerged) {
    const where = `${seen.sql} AND updatedAt >= ? AND status = coalesce(?, status)`;
    const values = [...seen.values, since, status ?? null, limit, offset];
    return all(`SELECT ${columns} FROM flows WHERE ${where} ${newest}`, values);
  }
  // One owner after the other: of several at once SQLite would sort everything.
  const owners = [...new Set(['anonymous', ...seen.values])];
  const found = owners.flatMap((owner) =>
    flowsOf(all, owner, { ...query, limit: offset + limit, offset: 0 }),
  );
  return found.toSorted((one, other) => other.createdAt - one.createdAt).slice(offset, offset + limit);
}

/** Of one owner, or of all. */
function flowsOf(
  all: ReadAll,
  owner: string | undefined,
  { since = 0, status, limit, offset = 0 }: FlowQuery,
): Flow[] {
  const where = `${owner === undefined ? 'TRUE' : 'owner = ?'} AND updatedAt >= ? AND status = coalesce(?, status)`;
  const values = [...(owner === undefined ? [] : [owner]), since, status ?? null];
  if (since <= 0)
    return all(`SELECT ${columns} FROM flows WHERE ${where} ${newest}`, [...values, limit, offset]);
  // Most were opened since then, or just before; the others are found by when they changed, or all would be looked at.
  const border = since - quickMs;
  const recent = all<Flow>(`SELECT ${columns} FROM flows WHERE ${where} AND createdAt >= ? ${newest}`, [
    ...values,
    border,
    limit,
    offset,
  ]);
  if (recent.length === limit) return recent;
  const recentCount = `SELECT count(*) AS count FROM flows WHERE ${where} AND createdAt >= ?`;
  const before =
    offset === 0 ? recent.length : (all<{ count: number }>(recentCount, [...values, border])[0]?.count ?? 0);
  const index = owner === undefined ? 'flows_long' : 'flows_long_by_owner';
  const long = all<Flow>(
    `SELECT ${columns} FROM flows INDEXED BY ${index}
       WHERE ${where} AND createdAt < ? AND updatedAt > createdAt + ${quickMs} ${newest}`,
    [...values, border, limit - recent.length, Math.max(0, offset - before)],
  );
  return [...recent, ...long];
}
