import { type AppEnv, describeRoute, validate } from '@trunkline/http';
import type { Hono } from 'hono';
import { z } from 'zod';
import { researchErrors } from '../errors.ts';
import { type BundleDeps, bundleOf } from '../exports/bundle.ts';
import { exportAs, FORMATS, fileName, MEDIA_TYPES } from '../exports/formats.ts';
import type { PdfPrinter } from '../exports/pdf.ts';
import type { JobStore } from '../store/jobs.ts';
import { jobFinder } from './find-job.ts';

export interface ExportRouteDeps extends BundleDeps {
  jobs: JobStore;
  printer: PdfPrinter;
}

const exportSchema = z.object({ format: z.enum(FORMATS) });

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
      const job = find(c.req.param('id'));
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
