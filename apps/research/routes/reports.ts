import { type AppEnv, describeRoute, validate } from '@trunkline/http';
import type { Hono } from 'hono';
import { accepts } from 'hono/accepts';
import { z } from 'zod';
import type { SharedReport } from '../api-types.ts';
import { researchErrors } from '../errors.ts';
import { type BundleDeps, bundleOf } from '../exports/bundle.ts';
import { exportAs, FORMATS, fileName, MEDIA_TYPES } from '../exports/formats.ts';
import type { PdfPrinter } from '../exports/pdf.ts';
import type { Job } from '../research/job.ts';
import { sharePath } from '../research/snapshot.ts';
import type { FindingStore } from '../store/findings.ts';
import type { JobStore, ShareStore } from '../store/jobs.ts';
import { jobFinder } from './guards.ts';

const exportSchema = z.object({ format: z.enum(FORMATS) });

export interface ShareRouteDeps {
  jobs: JobStore;
  findings: FindingStore;
  shares: ShareStore;
}

const PATH = '/api/research/deep/:id/share';

const SHARED_TYPES = ['text/html', 'text/markdown', 'application/json'];

/** Links to one report for people without a token. The page itself is served under `/share`. */
export function mountShares(app: Hono<AppEnv>, { jobs, findings, shares }: ShareRouteDeps): void {
  const find = jobFinder(jobs);
  const { research_not_found, report_not_ready, share_not_found } = researchErrors;
  const sharedJob = (token: string): Job | undefined => jobs.get(shares.jobOf(token) ?? '');

  app.post(
    PATH,
    describeRoute({
      summary: 'Make a link to the report, or give the one there is',
      status: 201,
      errors: [research_not_found, report_not_ready],
    }),
    (c) => {
      const job = find(c);
      if (job.report === null) throw report_not_ready();
      return c.json({ share: sharePath(shares.share(job.id)) }, 201);
    },
  );

  app.delete(
    PATH,
    describeRoute({ summary: 'Take the link back', status: 204, errors: [research_not_found] }),
    (c) => {
      shares.revoke(find(c).id);
      return c.body(null, 204);
    },
  );

  app.get(
    '/share/:token/report',
    describeRoute({ summary: 'A shared report, without a token', errors: [share_not_found] }),
    (c) => {
      const job = sharedJob(c.req.param('token'));
      if (job === undefined) throw share_not_found();
      return c.json(toShared(job, findings), 200, { 'cache-control': 'no-store' });
    },
  );

  // Programs get the report itself, browsers the page.
  app.use('/share/:token', async (c, next) => {
    const type = accepts(c, { header: 'Accept', supports: SHARED_TYPES, default: 'text/markdown' });
    if (type === 'text/html' || !['GET', 'HEAD'].includes(c.req.method)) return next();
    const job = sharedJob(c.req.param('token'));
    if (job === undefined) throw share_not_found();
    const headers = { 'cache-control': 'no-store', vary: 'accept' };
    if (type === 'application/json') return c.json(toShared(job, findings), 200, headers);
    return c.body(job.report ?? '', 200, { ...headers, 'content-type': MEDIA_TYPES.md });
  });

  // The page comes with status 404 for a link that does not hold, and is never kept: the link may be taken back.
  app.use('/share/:token', async (c, next) => {
    const isShared = sharedJob(c.req.param('token')) !== undefined;
    await next();
    const { status, headers, body } = c.res;
    if (status !== 200) return;
    headers.delete('etag');
    headers.set('cache-control', 'no-store');
    // Set aside first, or the two answers would be merged.
    c.res = undefined;
    c.res = new Response(body, { status: isShared ? 200 : 404, headers });
  });
}

/** What readers of a shared link may see: the report and its evidence, nothing of the service. */
function toShared(
  { id, query, report, citations, model, createdAt }: Job,
  findings: FindingStore,
): SharedReport {
  return {
    query,
    report: report ?? '',
    citations,
    model: model.name,
    createdAt: new Date(createdAt).toISOString(),
    sources: findings
      .sources(id)
      .filter(({ number }) => number !== null)
      .map(({ id: sourceId, number, title, url, published }) => ({
        id: sourceId,
        number,
        title,
        url,
        published,
      })),
    claims: findings.claims(id),
  };
}

interface ExportRouteDeps extends BundleDeps {
  jobs: JobStore;
  printer: PdfPrinter;
}

/** Research as a file to take away. */
export function mountExports(app: Hono<AppEnv>, deps: ExportRouteDeps): void {
  const find = jobFinder(deps.jobs);
  const { research_not_found, report_not_ready, format_unavailable } = researchErrors;
  app.get(
    '/api/research/deep/:id/export',
    describeRoute({
      summary: 'The report as md, html, docx or pdf, its sources as bib, or all evidence as json',
      mediaType: 'application/octet-stream',
      errors: [research_not_found, report_not_ready, format_unavailable],
    }),
    validate('query', exportSchema),
    async (c) => {
      const job = find(c);
      const { format } = c.req.valid('query');
      // Evidence can be had of a job that failed, too.
      if (job.report === null && format !== 'json') throw report_not_ready();
      const body = await exportAs(format, bundleOf(job, deps), deps, c.req.raw.signal);
      const bytes = typeof body === 'string' ? body : new Uint8Array(body);
      return c.body(bytes, 200, {
        'content-type': MEDIA_TYPES[format],
        'content-disposition': `attachment; filename="${fileName(job.query, format)}"`,
        'cache-control': 'no-store',
      });
    },
  );
}
