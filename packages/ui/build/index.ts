export { buildPages, ensurePages } from './ensure.ts';
export type { PageApp, Pages, PagesOptions } from './layout.ts';
