import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, it } from 'vitest';
import { guides, root } from './blocks.suite.ts';

/** Text without code, where brackets and hashes mean something else. */
function prose(file: string): string {
  return readFileSync(file, 'utf8')
    .replaceAll(/^```[\s\S]*?^```$/gm, '')
    .replaceAll(/`[^`\n]*`/g, (code) => code.replaceAll(/[[\]()#<>]/g, ''));
}

/** The anchors that GitHub and /help give to headings. */
function anchorsOf(file: string): string[] {
  return [...prose(file).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(/\s/g, '-'),
  );
}

it('links of the guides lead to files and headings that there are', () => {
  const pages = [
    ...guides(),
    ...['CHANGELOG.md', 'SECURITY.md', 'AGENTS.md'].map((name) => join(root, name)),
  ];
  const broken = pages.flatMap((page) => {
    const links = [...prose(page).matchAll(/\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"/g)].map(
      ([, link, source]) => link ?? source ?? '',
    );
    return links.flatMap((link) => {
      if (/^(https?|mailto):/.test(link)) return [];
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? page : join(dirname(page), path);
      if (!existsSync(target)) return [`${relative(root, page)}: ${link}`];
      const hasAnchor =
        anchor === undefined || statSync(target).isDirectory() || anchorsOf(target).includes(anchor);
      return hasAnchor ? [] : [`${relative(root, page)}: ${link}`];
    });
  });
  expect(broken).toEqual([]);
});

it('every guide is in the index', () => {
  const index = readFileSync(join(root, 'docs/README.md'), 'utf8');
  const missing = guides()
    .map((file) => relative(join(root, 'docs'), file))
    .filter((file) => !/^\.\.|^README|^surfaces\/(?!README)/.test(file) && !index.includes(`(${file})`));
  expect(missing).toEqual([]);
});
